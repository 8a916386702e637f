thinpipe list --help
