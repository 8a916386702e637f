# Gradients in 16 bits: widened when read, and reported as such.
thinpipe-make-trace trace
python3 - <<'P'
import glob, hashlib, json, struct
trace = json.load(open("trace/trace.json"))
for step in trace["steps"]:
    for worker in step["workers"]:
        name = "trace/" + worker["file"]
        data = open(name, "rb").read()
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8:8 + length])
        words = struct.unpack("<%dI" % ((len(data) - 8 - length) // 4), data[8 + length:])
        for entry in header.values():
            if "dtype" in entry:
                entry.update(dtype="BF16", data_offsets=[at // 2 for at in entry["data_offsets"]])
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        data = struct.pack("<Q", len(text)) + text + struct.pack("<%dH" % len(words), *[w >> 16 for w in words])
        open(name, "wb").write(data)
        worker.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
trace["dtype"] = "BF16"
json.dump(trace, open("trace/trace.json", "w"))
P
thinpipe trace info trace | grep gradient
thinpipe trace info trace --json | grep dtype
thinpipe trace verify trace; echo "exit $?"
# Values that are already bfloat16 lose nothing to the method of that name.
thinpipe quality --trace trace -c bf16 | awk '/^bf16/ && !seen++ { print $1, "error", $5 }'
thinpipe bench -c topk --trace trace --repetitions 1 --warmup 1 > bench.txt 2>&1; echo "exit $?"
