thinpipe export --help
