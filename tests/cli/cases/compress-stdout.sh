# Data on standard output is not mixed with the table, which is then on standard error.
thinpipe-make-trace trace
gradient=trace/rank-000/step-00000000.safetensors
thinpipe compress -c topk -i $gradient -o /dev/stdout 2> table > step.tpp; echo "exit $?"
tail -1 table
thinpipe decompress -i step.tpp -o /dev/stdout 2> table > piped.safetensors; echo "exit $?"
wc -l < table
thinpipe decompress -i step.tpp -o decoded.safetensors > /dev/null
cmp decoded.safetensors piped.safetensors && echo same
for verb in "compress -c topk -i $gradient" "decompress -i step.tpp"; do
  thinpipe $verb -o /dev/fd/1 --json; echo "exit $?"
done
thinpipe bench -c none --size 1k --residency cache --warmup 2 --repetitions 2 --min-time 1e-5 \
  --json /dev/stdout 2> /dev/null | python3 -c 'import json, sys; json.load(sys.stdin)' && echo JSON
