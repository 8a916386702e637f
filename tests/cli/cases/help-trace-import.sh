thinpipe trace import --help
