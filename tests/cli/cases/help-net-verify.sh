thinpipe net verify --help
