# A compressor that decodes to NaN fails, and its record does not pass a gate. Others are measured.
thinpipe-make-trace trace
plugin="$BIN/../tests/plugins/broken_methods.so"
thinpipe quality --trace trace -c decodes-to-nan -c none --plugin "$plugin" --out out > table
echo "exit $?"
grep -o -E '^(none|decodes-to-nan) +[0-9.]+ kB' table
grep -o -E '"(id|reasons|status)":("[^"]*"|\[[^]]*\])' out/records.jsonl | head -6
thinpipe gate --baseline out --measured out > /dev/null; echo "exit $?"
thinpipe quality --trace trace -c decodes-to-nan --plugin "$plugin"; echo "exit $?"
thinpipe compress -c decodes-to-nan --plugin "$plugin" -o step.tpp \
  -i trace/rank-000/step-00000000.safetensors; echo "exit $?"
ls
