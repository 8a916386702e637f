thinpipe net --help
