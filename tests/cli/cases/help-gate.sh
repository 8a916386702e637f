thinpipe gate --help
