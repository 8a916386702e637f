# A period of two steps: the first is accumulated in the state file, the second sends the sum.
strip() { sed -E 's/ +[0-9.]+ (ns|us|ms|s)$/ TIME/; s/: .* in step/: SIZE in step/'; }
thinpipe-make-trace trace
for step in 0 1; do
  thinpipe compress -c topk:delay=2,ratio=0.1 -i trace/rank-000/step-0000000$step.safetensors \
    -o step.tpp --state worker.state | strip
  thinpipe decompress -i step.tpp -o decoded.safetensors | strip | tail -1
done
thinpipe compress -c topk:ratio=0.1 -i trace/rank-000/step-00000000.safetensors -o step.tpp \
  --state worker.state 2>&1 | cut -d"'" -f1-3; echo "exit ${PIPESTATUS[0]}"
ls
