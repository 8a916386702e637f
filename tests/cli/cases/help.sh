thinpipe --help
