thinpipe-make-trace trace && thinpipe trace info trace --json
