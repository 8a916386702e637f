thinpipe trace export --help
