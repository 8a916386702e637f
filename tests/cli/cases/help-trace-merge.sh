thinpipe trace merge --help
