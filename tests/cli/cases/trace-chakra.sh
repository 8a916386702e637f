# Execution traces for simulators: sizes and order in a reader of the schema alone; an import of them.
thinpipe-make-trace trace
thinpipe trace export trace --format chakra --steps 0-1 --out et
code=$?
[[ $code -ne 4 ]] || exit 77  # this build has no protobuf
show() { python3 "$ROOT/tests/trace/read_execution_trace.py" "$1" | sed -E '/(en|de)code bucket/s/NODE [0-9]+/NODE N/; /^trace/d'; }
ls et
show et/synthetic.1.et | sed -n 1,24p
thinpipe trace export trace --format chakra --steps 2 --ranks 1 -c fp16:exchange=allgather --overlap bucket --out et1
show et1/synthetic.0.et | grep -e COLL -e compressor
thinpipe trace import et --out back
thinpipe trace info back | grep -v identity
head -c 100 et/synthetic.0.et > cut.et; thinpipe trace import cut.et --out none 2>&1 | sed 's/found [0-9]* bytes, expected at most [0-9]*/found N bytes/'
ls -d none
thinpipe trace export trace -c topk --out none; echo "exit $?"
thinpipe trace export trace --format chakra --tensors tensor-0 --out none; echo "exit $?"
thinpipe trace export trace --format chakra --device cuda --out none; echo "exit $?"
thinpipe trace export trace --format chakra --codec-times out --overlap bucket --out none; echo "exit $?"
# Sizes and codec times of a run's records.
mkdir run
identity=$(thinpipe quality --trace trace --ranks 1 --steps 1 -c none --json | sed -n 's/^  "identity": "\(.*\)",/\1/p')
python3 - "$identity" > run/records.jsonl <<'END'
import json, sys
def metric(sample):
    return {"unit": "s", "better": "lower", "kind": "timed", "samples": [sample]}
print(json.dumps({"record": "header", "version": 1, "kind": "run", "created": "", "command": [],
                  "seed": 1, "trace": {"identity": sys.argv[1]}, "fingerprint": {}}))
print(json.dumps({"record": "point", "id": "3lc", "status": "ok", "reasons": [],
                  "axes": {"compressor": "3lc", "method": "3lc", "link": "rate=1gbit", "rate": 1e9,
                           "delay": 0, "ranks": 2, "repeat": 0, "collective": "allgather-ring"},
                  "metrics": {"compress_cpu_time": metric(4e-4), "decode_time": metric(5e-4),
                              "payload_bytes": metric(2000)}}))
END
thinpipe trace export trace --format chakra --steps 0 -c 3lc --codec-times run --out et2
python3 "$ROOT/tests/trace/read_execution_trace.py" et2/synthetic.0.et | grep -e bucket -e codec_times
