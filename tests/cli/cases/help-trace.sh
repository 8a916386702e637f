thinpipe trace --help
