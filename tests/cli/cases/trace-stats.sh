# Distributions, decay, fits and similarity: as a table, as JSON, as records.
thinpipe-make-trace trace
thinpipe trace stats trace
thinpipe trace stats trace --tensors tensor-1 --steps 1-2 --ranks 0-1 --no-feedback --out stats.jsonl
thinpipe trace stats trace --tensors tensor-1 --json | python3 -c '
import json, sys
stats = json.load(sys.stdin)
print(sorted(stats), len(stats["gradients"]), len(stats["similarities"]))
print({name: round(value, 6) for name, value in stats["gradients"][0]["fits"]["gamma"].items()})'
python3 - <<'P'
import json
header, *records = map(json.loads, open("stats.jsonl"))
print(header["kind"], header["statistics"])
for record in records:
    print(record["record"], record["training_step"], record.get("other_rank", "-"),
          len(record.get("curves", {}).get("x", [])))
P
thinpipe trace stats trace --ratios 0.1,2; echo "exit $?"
thinpipe trace stats trace --steps 5-3; echo "exit $?"
thinpipe trace stats trace --ranks 7; echo "exit $?"
thinpipe trace stats trace --out /nowhere/stats.jsonl; echo "exit $?"
thinpipe trace stats trace --out stats > /dev/null; ls stats
thinpipe report stats -f md; thinpipe report stats --format text
thinpipe report stats -f md -o - | sed -n '/^## Similarity/,/^## Moments/p'
thinpipe report stats.jsonl -f md; ls
thinpipe report stats --time-scale 2; echo "exit $?"
thinpipe report trace; echo "exit $?"
