# Collectives with their abilities and parameters; a program can read the same.
thinpipe list collectives
thinpipe list collectives --json | python3 -c '
import json, sys
for collective in json.load(sys.stdin)["collectives"]:
    assert collective["summary"] and collective["source"], collective
    print(collective["name"], collective["exchanges"], [p["name"] for p in collective["parameters"]])'
