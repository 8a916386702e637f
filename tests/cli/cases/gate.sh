# A gate on stored records: what it cannot compare, and outputs that it cannot write.
measure() { thinpipe quality --trace synthetic:elements=1000 -c topk --ranks 1 --steps 1 "$@" > /dev/null; }
measure --out a; measure --out other --seed 2; measure --out b
gate() { thinpipe gate "$@" > said; echo "exit $?"; sed -E '1s/[0-9]+/N/g' said; }
gate --baseline a --times none --measured b
gate --baseline a --times none --measured other
# A point is the same, whether or not its compressor's defaults are written out.
thinpipe quality --trace synthetic:elements=1000 -c topk:ratio=0.010 --ranks 1 --steps 1 --out spelt > /dev/null
gate --baseline a --times none --measured spelt
# The newest launch is compared with the first one, not with that of another seed between them.
mkdir nightly; day=0
for records in a other b; do
  day=$((day + 1))
  sed "s/\"created\":\"[^\"]*\"/\"created\":\"2026-01-0${day}T00:00:00Z\"/" $records/records.jsonl > nightly/$day.jsonl
done
gate --history nightly | head -2
# A wrong name of an output is told before the command after -- is started.
for option in junit markdown json; do
  gate --baseline a --$option nowhere/file -- quality --trace nowhere
done
gate --save said -- quality --trace nowhere
