thinpipe run --help
