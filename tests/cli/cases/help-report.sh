thinpipe report --help
