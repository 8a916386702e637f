thinpipe trace info --help
