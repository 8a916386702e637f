thinpipe net show --help
