thinpipe list topk
