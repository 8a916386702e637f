thinpipe trace stats --help
