# Predictions from a run's codec times, so that they are the same on every machine.
trace=synthetic:model=lenet5
identity=$(thinpipe quality --trace $trace --ranks 1 --steps 1 -c none --json |
           sed -n 's/^  "identity": "\(.*\)",/\1/p')
python3 - "$identity" > records.jsonl <<'END'
import json, sys
def metric(*samples):
    return {"unit": "s", "better": "lower", "kind": "timed", "samples": samples}
print(json.dumps({"record": "header", "version": 1, "kind": "run", "created": "", "command": [],
                  "seed": 1, "trace": {"identity": sys.argv[1]}, "fingerprint": {}}))
for name, compress, decode, payload in [("none", 1e-4, 0, 4 * 431080), ("3lc", 4e-4, 5e-4, 20000),
                                        ("bf16", 2e-4, 1e-4, 2 * 431080),
                                        ("topk:ratio=0.01", 3e-4, 1e-4, 34000)]:
    print(json.dumps({
        "record": "point", "id": name, "status": "ok", "reasons": [],
        "axes": {"compressor": name, "method": name, "link": "rate=1gbit", "rate": 1e9, "delay": 0,
                 "ranks": 2, "repeat": 0, "collective": "allgather-ring"},
        "metrics": {"compress_cpu_time": metric(compress), "decode_time": metric(decode),
                    "payload_bytes": metric(payload)}}))
for name, compress, decode, payload in [("none", 0, 2e-4, 4 * 431080), ("3lc", 5e-5, 4e-5, 20000)]:
    print(json.dumps({
        "record": "point", "id": name + "|cuda", "status": "ok", "reasons": [],
        "axes": {"compressor": name, "method": name, "link": "rate=1gbit", "rate": 1e9, "delay": 0,
                 "ranks": 2, "repeat": 0, "collective": "allgather-ring", "device": "cuda"},
        "metrics": {"compress_time": metric(compress), "compress_cpu_time": metric(9),
                    "decode_time": metric(decode), "payload_bytes": metric(payload),
                    "copy_down_time": metric(1e-4), "copy_up_time": metric(1e-4)}}))
END
predict() { thinpipe predict --trace $trace --codec-times . --message-time 20us "$@"; }
predict -c 'topk:ratio=0.01' -c 3lc --ranks '4|1024' --link 'rate=100mbit|100gbit' 2>/dev/null
echo "exit $?"
predict -c 3lc --ranks 4 --link rate=100mbit --cores 2 --json 2>/dev/null |
  python3 -c 'import json, sys
said = json.load(sys.stdin, parse_float=lambda text: float("%.4g" % float(text)))
print(said.pop("created")[:2], said.pop("fingerprint")["thinpipe"])  # now, and this machine
print(json.dumps(said, indent=1))'
predict -c 3lc --topology racks:racks=2,oversubscription=20 --link rate=1gbit 2>/dev/null
# An uplink of eight hosts has twice their rate, which ends the search for the break-even rate.
predict -c 3lc --topology racks:racks=2 --ranks 16 --link rate=100mbit 2>/dev/null
predict -c 3lc --link rate=1gbit --collective openmpi 2>/dev/null
predict -c 3lc --link rate=1gbit,loss=1% 2>/dev/null
predict --device cuda -c 3lc --ranks '4|64' --link 'rate=1gbit|100gbit' 2>/dev/null
# Without -c: those of the records. A spec may leave out its defaults.
for device in cpu cuda; do
  predict --device $device --ranks 4 --link rate=1gbit 2>&1 |
    awk '/^without/ {print} $3 == "ms" {print $1}'
done
predict -c topk --ranks 4 --link rate=1gbit 2>/dev/null | grep -c '^topk'
# The contention of `run --compute work` is in no prediction.
sed 's/"seed": 1, /"seed": 1, "settings": {"compute": "work"}, /' records.jsonl > work.jsonl
thinpipe predict --records work.jsonl > again.txt
predict --device cuda -c 'topk:ratio=0.01'
predict -c fp16
predict -c 3lc --ranks 1025
thinpipe predict --trace $trace --codec-times . -c 3lc --message-time fast
thinpipe predict --trace synthetic:model=resnet20 --codec-times . -c 3lc
thinpipe predict --trace $trace --codec-times nowhere -c 3lc
thinpipe predict --trace $trace --device cuda -c 3lc
predict -c 'cov*:none;*:3lc;*.wieght:3lc'
