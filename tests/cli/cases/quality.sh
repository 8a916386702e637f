# The table without its last column, the passes; steps by tensor; the dump's files.
thinpipe-make-trace trace
thinpipe quality --trace trace -c 'topk:ratio=0.1|0.01' -c 3lc -c none -c sbc:p=0.01,delay=3 \
  --dump-decoded dump | sed -E '3,/^$/s/ +[^ ]+$//'
thinpipe quality --trace trace -c topk --ranks 1 --steps 2 --by tensor-step | sed -E '3,/^$/s/ +[^ ]+$//' | tail -9
find dump | sort
thinpipe quality --trace trace -c topk --dump-decoded dump; echo "exit $?"
thinpipe quality --trace trace -c topk --ranks 9; echo "exit $?"
thinpipe quality --trace nowhere -c topk; echo "exit $?"
