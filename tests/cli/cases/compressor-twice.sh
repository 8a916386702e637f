# A compressor is measured once, whether or not its defaults are written out.
thinpipe-make-trace trace
thinpipe quality --trace trace -c topk -c topk:ratio=0.01 -c topk:ratio=0.1 | grep -c 'topk.* kB'
