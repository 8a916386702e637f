thinpipe capture --help
