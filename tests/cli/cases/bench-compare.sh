# Google Benchmark's own compare.py reads what `bench --json` writes: pairs of the same names, with
# their times, and its U test. Where it is not at hand the case is skipped, saying why.
compare=/usr/share/benchmark/compare.py
[[ -f $compare ]] || { echo "no $compare (Debian's libbenchmark-tools)"; exit 77; }
python3 -c 'import numpy, scipy.stats' 2> /dev/null ||
  { echo "no numpy or SciPy for $compare (Debian's python3-scipy)"; exit 77; }
measure() {
  thinpipe bench -c topk -c none --size 4k --residency cache --warmup 2 --repetitions 9 \
    --min-time 1e-4 --json "$1" > /dev/null 2>&1
}
measure old.json; measure new.json
python3 $compare --no-color benchmarks old.json new.json > compared; echo "exit $?"
# A line a repetition: name, the two changes, the four times; 2 x 2 benchmarks, 9 repetitions.
grep -E -c '^(en|de)code/(topk|none)/[^ ]*/real_time +[-+][0-9.]+ +[-+][0-9.]+( +[0-9]+){4}$' compared
grep -E '^(en|de)code/[^ ]*_pvalue ' compared |
  sed -E 's/simd:[^/]*/simd:NAME/; s/ +[0-9.]+ +[0-9.]+ +U/ P P U/'
# Two compressors of one file against each other, by filters.
python3 $compare --no-color filters new.json 'encode/none' 'encode/topk' |
  grep -c '^\[encode/none vs. encode/topk\].*real_time  '
