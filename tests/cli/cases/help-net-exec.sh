thinpipe net exec --help
