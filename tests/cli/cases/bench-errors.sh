# Mistakes in the options of a bench: exit code 2 before anything is measured.
try() { thinpipe bench "$@" 2>&1; echo "exit $?"; }
try --size 26q
try --size 1.5
try --size 2g
try --threads 0
try --threads '1|two'
try --simd bets 2>&1 | sed 's/has best .*;/has best ...;/'
try -c topkk | sed 's/ (known: [^)]*)//'
try -c 'topk:ratio=2'
try --distribution cauchy
try --tensor weight
try --trace trace --size 1k
try --trace nowhere
thinpipe-make-trace trace && try --trace trace --tensor tensor-9
try --json nowhere/bench.json
try --device cuda --threads 2
try --device 'cpu|cuda' --turns
try --device tpu
try -c 3lc --ratio 0.1
try -c topk --ratio '0.1|2'
