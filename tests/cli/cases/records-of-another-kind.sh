# A folder with records of another kind is refused before anything is drawn or timed.
thinpipe quality --trace synthetic:elements=1000,steps=2 -c none --out records > /dev/null
thinpipe bench -c none --size 1k --residency cache --warmup 2 --repetitions 2 --min-time 1e-5 \
  --out records
echo "exit $?"
