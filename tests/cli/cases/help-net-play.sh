thinpipe net play --help
