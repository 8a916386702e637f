# --threads and --simd: impossible values are refused by name, and possible ones change no byte.
thinpipe-make-trace trace
step=trace/rank-000/step-00000000.safetensors
try() { thinpipe "$@" 2>&1 | sed 's/has best .*;/has best ...;/'; echo "exit ${PIPESTATUS[0]}"; }
for option in '--threads 0' '--threads 257' '--threads two' '--threads 1|2' '--simd bets'; do
  try compress -c topk -i $step -o step.tpp $option
done
for option in '--threads 0' '--simd bets'; do
  try decompress -i step.tpp -o decoded.safetensors $option
  try quality --trace trace -c topk $option
  try run --trace trace --out out $option
done
ls

# A tensor that is large enough for several threads (2^20 elements).
python3 - <<'END'
import array, json, struct
n = (1 << 20) + 3
head = json.dumps({"w": {"dtype": "F32", "shape": [n], "data_offsets": [0, 4 * n]}}).encode()
values = array.array("f", (i * 2654435761 % 4294967296 / 2**31 - 1 for i in range(n)))
with open("large.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(head)) + head + values.tobytes())
END
names=$(thinpipe compress -c topk -i $step -o x --simd bets 2>&1 | sed 's/.*has best //; s/;.*//')
for compressor in topk:ratio=0.01 int8; do
  thinpipe compress -c $compressor -i large.safetensors -o plain.tpp >/dev/null
  thinpipe decompress -i plain.tpp -o plain.safetensors >/dev/null
  for name in $names; do
    thinpipe compress -c $compressor -i large.safetensors -o fast.tpp -t 3 --simd $name >/dev/null
    thinpipe decompress -i fast.tpp -o fast.safetensors -t 3 --simd $name >/dev/null
    cmp plain.tpp fast.tpp && cmp plain.safetensors fast.safetensors || echo "$name differs"
  done
done
