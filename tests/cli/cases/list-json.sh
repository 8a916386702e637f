# A program can read the list; its content is that of the text.
thinpipe list --json > list.json
python3 - <<'P'
import json
data = json.load(open("list.json"))
names = [c["name"] for c in data["compressors"]]
print(sorted(names) == names, "topk" in names, "none" in names)
for compressor in data["compressors"]:
    assert compressor["summary"] and compressor["source"], compressor
    assert compressor["aggregation"] in ("allreduce", "allgather"), compressor
    for parameter in compressor["parameters"]:
        assert parameter["help"] and parameter["default"] != "", parameter
print([m["name"] for m in data["models"]])
P
