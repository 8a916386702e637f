thinpipe doctor --help
