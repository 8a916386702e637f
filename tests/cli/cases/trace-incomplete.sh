# A capture that lost a rank: it opens, info and quality report the loss, verify exits with 4.
thinpipe-make-trace trace
python3 - <<'P'
text = open("trace/trace.json").read()
marked = text.replace('"squares"', '"complete": false,\n"missing": ["rank 1: ended without closing its part"],\n"squares"')
open("trace/trace.json", "w").write(marked)
P
thinpipe trace info trace | head -5
thinpipe trace verify trace; echo "exit $?"
thinpipe trace verify trace --json; echo "exit $?"
thinpipe quality --trace trace -c none --json > quality.json; echo "exit $?"
