thinpipe compress --help
