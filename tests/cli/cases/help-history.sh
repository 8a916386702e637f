thinpipe history --help
