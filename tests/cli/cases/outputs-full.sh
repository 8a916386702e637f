# A disk of 64 KiB that is full: an error with file and reason, the old file is whole, nothing is left.
unshare --user --map-root-user --mount true 2> /dev/null ||
  { echo 'no user namespaces here'; exit 77; }
thinpipe-make-trace trace
thinpipe quality --trace trace -c none --out kept > /dev/null
thinpipe compress -c none -i trace/rank-000/step-00000000.safetensors -o step.tpp > /dev/null
unshare --user --map-root-user --mount bash -u <<'INSIDE'
mkdir disk
mount -t tmpfs -o size=64k full disk || { echo 'no disk of our own can be mounted here'; exit 77; }
for name in export report compress decompress show gate; do echo old > disk/$name; done
head -c 1M /dev/zero > disk/ballast 2> /dev/null
thinpipe export kept -o disk/export; echo "exit $?"
thinpipe report kept -f md -o disk/report; echo "exit $?"
thinpipe compress -c none -i trace/rank-000/step-00000000.safetensors -o disk/compress; echo "exit $?"
thinpipe decompress -i step.tpp -o disk/decompress; echo "exit $?"
thinpipe net show --ranks 2 --svg disk/show; echo "exit $?"
thinpipe gate --baseline kept --measured kept --junit disk/gate > /dev/null; echo "exit $?"
ls -A disk; rm disk/ballast; cat disk/*
INSIDE
