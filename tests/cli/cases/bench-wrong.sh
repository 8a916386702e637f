# A codec whose output is wrong is an error (exit code 4) and no row, in every output format.
thinpipe bench --plugin "$BIN/../tests/plugins/broken_methods.so" -c none -c decodes-otherwise \
  -c cannot-decode --size 1k --residency cache --warmup 2 --repetitions 2 --min-time 1e-5 \
  --json bench.json --out out > table 2> told
echo "exit $?"
grep -E '^[* ] (none|decodes|cannot)' table | sed -E 's|^(..[^ ]*).*|\1|'
sed -n '/thinpipe bench/,$p' told | sed 's|laplace.*/simd:[^:]*: |... |; s/to [0-9]* (.*/to .../'
grep -c 'encode/none' bench.json
grep -E -c 'decode.*(decodes-otherwise|cannot-decode)' bench.json
grep -o '"method":"[^"]*"\|"status":"[^"]*"' out/records.jsonl
