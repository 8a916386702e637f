thinpipe list topkk
