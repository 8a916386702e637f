thinpipe predict --help
