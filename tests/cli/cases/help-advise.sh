thinpipe advise --help
