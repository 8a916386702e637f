# Records without a point: a run that was interrupted early. Reports say so, in every format.
mkdir run
echo '{"record": "header", "version": 1, "kind": "run", "created": "", "command": [], "seed": 1, "trace": {}, "fingerprint": {}}' > run/records.jsonl
sed 's/"run"/"train"/' run/records.jsonl > train.jsonl
for records in run train.jsonl; do
  for format in text md; do thinpipe report $records --format $format; echo "exit $?"; done
done
thinpipe predict --records run; echo "exit $?"
thinpipe predict --trace synthetic:elements=1000 --codec-times run; echo "exit $?"
