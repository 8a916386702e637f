# What `quality` dumps is what another process decodes from the files of `compress`, step by step
command -v python3 > /dev/null || { echo "no python3"; exit 77; }
# with its state on disk, bit for bit.
thinpipe-make-trace trace
same() {
  python3 - "$1" "$2" <<'PYTHON'
import json, struct, sys
def tensors(path):
    data = open(path, "rb").read()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    place = 8 + length
    return {name: data[place + entry["data_offsets"][0]:place + entry["data_offsets"][1]]
            for name, entry in header.items()}
dump, decoded = tensors(sys.argv[1]), tensors(sys.argv[2])
ours = {name[len("decoded/"):]: value for name, value in dump.items() if name.startswith("decoded/")}
print("same" if ours == decoded else "DIFFERENT", len(ours), "decoded,", len(dump) - len(ours), "residuals,",
      "zeros" if not any(any(value) for value in ours.values()) else "values")
PYTHON
}
for spec in topk:ratio=0.05 dgc:ratio=0.05 3lc sidco:ratio=0.01 sbc:p=0.01,delay=2 topk:memory=none; do
  echo "$spec"
  thinpipe quality --trace trace -c "$spec" --ranks 1 --dump-decoded dump > /dev/null
  for step in 0 1 2; do
    name=rank-000/step-0000000$step.safetensors
    thinpipe compress -c "$spec" -i trace/$name -o step.tpp --state worker.state > /dev/null
    thinpipe decompress -i step.tpp -o decoded.safetensors > /dev/null
    same dump/$name decoded.safetensors
  done
  rm -r dump worker.state
done
