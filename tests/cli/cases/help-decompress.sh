thinpipe decompress --help
