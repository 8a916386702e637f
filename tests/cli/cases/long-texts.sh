# A text of 60,000 letters is repeated by its beginning alone: no message fills a screen.
long=$(head -c 60000 /dev/zero | tr '\0' a)
try() {
  "$@" > said 2>&1
  code=$?
  what="${*//$long/LONG}"
  [ "$(wc -c < said)" -lt 1500 ] || what+=": $(wc -c < said) bytes"
  echo "exit $code: $what"
}
trace=synthetic:model=lenet5
for text in "$long" "topk:ratio=$long" "topk:$long=1" "$long:ratio=1" "topk:ratio=0.1|$long" \
  "topk($long" "conv*:$long" "conv*:topk:ratio=$long;$long"; do
  try thinpipe quality --trace $trace --steps 1 -c "$text"
  try thinpipe predict --trace $trace -c "$text"
done
for option in --link --schedule --straggler --collective --topology --ranks --overlap --buckets \
  --local-steps --fragments --outer --time-scale --steps --seed --compute-scale --device --simd \
  --cores; do
  for text in "$long" "$long=$long" "$long:1=$long" "rate=$long" "host$long:outage:lasts=1s"; do
    try thinpipe predict --trace $trace -c none "$option" "$text"
  done
done
try thinpipe run --trace $trace --out out --shard "$long"
try thinpipe bench -c none --elements "$long"
try thinpipe bench -c none --distribution "$long"
try thinpipe net verify --link "$long"
try thinpipe net verify --topology "star:$long=1"
try thinpipe net verify --topology "switch a hosts=$long"
try thinpipe trace stats --ratios "$long" trace
try thinpipe trace info "synthetic:model=$long"
try thinpipe trace info "synthetic:$long"
try thinpipe list "$long"
try thinpipe list links "$long"
try thinpipe reproduce "$long"
try thinpipe "$long"
try thinpipe net "$long"
try thinpipe list --"$long"
try thinpipe gate --margin "$long"
