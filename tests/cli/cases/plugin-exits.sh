# A plug-in that calls exit(0) ends the command with an error, and leaves no output file.
thinpipe-make-trace trace
plugin="$BIN/../tests/plugins/unsafe.so"
thinpipe quality --trace trace -c exits --plugin "$plugin"; echo "exit $?"
thinpipe compress -c exits -i trace/rank-000/step-00000000.safetensors -o step.tpp \
  --plugin "$plugin"; echo "exit $?"
thinpipe bench -c exits --plugin "$plugin" --size 1k --residency cache --warmup 2 \
  --repetitions 2 --min-time 1e-5 2> told; echo "exit $?"
tail -1 told
ls
