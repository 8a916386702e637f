thinpipe net restore --help
