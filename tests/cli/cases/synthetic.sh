# Drawn gradients in place of captured ones; the message about a bad text names its error.
draw=synthetic:model=lenet5,dist=gamma,shape=0.3,workers=2,steps=2
for attempt in one two; do
  thinpipe quality --trace "$draw" -c topk:ratio=0.01 --json > $attempt.json
done
python3 - <<'P'
import json
one, two = (json.load(open(f"{name}.json")) for name in ("one", "two"))
print(one["identity"])
print(one["model"], one["ranks"], one["steps"])
def figures(report):
    found = report["compressors"][0]
    return found["encoded_bytes"], found["relative_error"], found["k_hat_over_k"]
print(figures(one) == figures(two), one["compressors"][0]["encoded_bytes"])
P
thinpipe quality --trace synthetic:model=vgg18 -c topk
thinpipe quality --trace synthetic:elements=5,dist=laplce -c topk
thinpipe bench --trace synthetic:model=lenet5,scal=2 -c topk
thinpipe run --trace synthetic:dist=fit --out out -c topk
thinpipe quality --trace synthetic:dist=fit,trace=nowhere -c topk 2>&1 | sed "s|$PWD|DIR|"
thinpipe quality --trace synthetic:elements=1000g,workers=1 -c none 2>&1 |
  sed 's/, but .* are available/, but SOME are available/'
thinpipe trace slice synthetic:elements=5 --out slice
thinpipe trace merge synthetic:elements=5 synthetic:elements=6 --out merged
thinpipe trace info synthetic:model=lenet5,workers=2,rho_step=0.1
thinpipe trace info synthetic:elements=2k,steps=1000000,workers=65536 --json |
  grep -E '"(identity|steps|complete|drawn_bytes_per_rank|first_loss)"'
thinpipe trace info synthetic:model=llama-3-8b,workers=65536 |
  sed -n '/^memory/,/^second/p' | tr -s ' \n' ' ' | sed 's/machine has .*/machine has SOME\n/'
thinpipe trace verify synthetic:elements=5; echo "exit $?"
thinpipe trace verify synthetic:elements=5 --json
thinpipe-make-trace captured
thinpipe trace verify synthetic:dist=fit,trace=captured; echo "exit $?"
thinpipe trace verify synthetic:elements=0; echo "exit $?"
