# Exchange patterns with what each can do and its parameters; a program can read the same.
thinpipe list patterns
thinpipe list patterns --json | python3 -c '
import json, sys
for pattern in json.load(sys.stdin)["patterns"]:
    assert pattern["summary"] and pattern["source"], pattern
    print(pattern["name"], pattern["exchanges"], [p["name"] for p in pattern["parameters"]])'
