# Findings depend on the machine; the list of checks does not.
thinpipe doctor --json > doctor.json
code=$?
CODE=$code python3 - <<'P'
import json, os
data = json.load(open("doctor.json"))
good = not any(f["state"] == "FATAL" for f in data["findings"])
print(good == data["can_run"] == (os.environ["CODE"] == "0"))
for finding in data["findings"]:
    assert finding["state"] in ("good", "note", "absent", "FATAL"), finding
    assert finding["state"] == "good" or finding["cost"] or finding["group"] == "kernel", finding
    if finding["group"] != "kernel":
        print(finding["group"], finding["name"])
P
