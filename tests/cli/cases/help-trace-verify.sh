thinpipe trace verify --help
