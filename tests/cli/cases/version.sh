thinpipe --version
