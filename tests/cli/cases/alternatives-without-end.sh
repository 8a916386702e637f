# Alternatives multiply: a short text may stand for more of them than memory can store.
trace=synthetic:model=lenet5
ratios=$(seq -s '|' 1 100)
try() {
  timeout 20 thinpipe predict --trace $trace -c none --link rate=1mbit "$@"
  echo "exit $?"
}
try -c "topk:ratio=$ratios,delay=$ratios,warmup=$ratios,clip=$ratios"
try -c "conv*:topk:delay=$ratios;fc*:topk:delay=$ratios;*:topk:delay=$ratios"
try --link "rate=$ratios,delay=$ratios,loss=$ratios"
try --straggler "host0:compute=$ratios;host1:compute=$ratios;host2:compute=$ratios"
try --collective "ps:servers=$ratios,pull=$ratios,a=$ratios"
try -c 'none|fp16' --min-elements "$(seq -s '|' 1 100)" --local-steps "$ratios"
try -c "topk:delay=$(seq -s '|' 1 1000)" --ranks "$(seq -s '|' 2 500)"
thinpipe run --trace $trace --out out -c "topk:delay=$(seq -s '|' 1 1000)" \
  --ranks "$(seq -s '|' 2 250)" --link rate=1mbit
echo "exit $?"
