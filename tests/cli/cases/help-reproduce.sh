thinpipe reproduce --help
