# A trace of `thinpipe train --exchange updates`: info, quality and reports say what it has.
thinpipe-make-trace trace
python3 - <<'P'
text = open("trace/trace.json").read()
open("trace/trace.json", "w").write(text.replace('"squares"', '"values": "updates",\n"squares"'))
P
thinpipe trace info trace | sed -n 5,6p
thinpipe quality --trace trace -c none --out out > quality.txt
thinpipe report out --format md > report.txt
grep -o "synthetic.*not gradients" out/report.md
sed -i 's/"updates"/"parameters"/' trace/trace.json
thinpipe trace info trace
