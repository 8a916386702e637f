thinpipe reproduce
thinpipe reproduce dgc-fig4
thinpipe reproduce --list
