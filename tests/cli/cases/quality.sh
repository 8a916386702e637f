# The table without its last columns, passes and a time; the dump's files.
thinpipe-make-trace trace
thinpipe quality --trace trace -c 'topk:ratio=0.1|0.01' -c 3lc -c none -c sbc:p=0.01,delay=3 \
  --dump-decoded dump | sed -E '3,$s/ +[^ ]+ +[^ ]+$//'
find dump | sort
thinpipe quality --trace trace -c topk --dump-decoded dump; echo "exit $?"
thinpipe quality --trace trace -c topk --ranks 9; echo "exit $?"
thinpipe quality --trace nowhere -c topk; echo "exit $?"
