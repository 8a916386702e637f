thinpipe trace slice --help
