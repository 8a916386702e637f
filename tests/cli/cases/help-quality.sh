thinpipe quality --help
