thinpipe bench --help
