thinpipe merge --help
