# Metrics of records with unit, direction and meaning; a program can read the same.
thinpipe list metrics
thinpipe list metrics --json | python3 -c '
import json, sys
for metric in json.load(sys.stdin)["metrics"]:
    assert metric["meaning"] and metric["unit"] and metric["kind"] in ("timed", "exact", "quality"), metric'
