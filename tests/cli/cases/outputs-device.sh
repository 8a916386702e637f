# As root: a device is written to and stays one. These are devices of our own, with the numbers of
# /dev/null and /dev/full.
mknod null c 1 3 2> /dev/null && mknod full c 1 7 && { : > null; } 2> /dev/null ||
  { echo 'devices cannot be made here'; exit 77; }
thinpipe-make-trace trace
gradient=trace/rank-000/step-00000000.safetensors
thinpipe quality --trace trace -c none --out kept > /dev/null
thinpipe compress -c none -i $gradient -o step.tpp > /dev/null
ln -s full link
for device in null full link; do
  echo "== $device"
  thinpipe export kept -o $device; echo "exit $?"
  thinpipe report kept -f md -o $device; echo "exit $?"
  thinpipe compress -c none -i $gradient -o $device > /dev/null; echo "exit $?"
  thinpipe decompress -i step.tpp -o $device > /dev/null; echo "exit $?"
  thinpipe net show --ranks 2 --svg $device > /dev/null; echo "exit $?"
  thinpipe gate --baseline kept --measured kept --junit $device > /dev/null; echo "exit $?"
done
stat -c '%N %F' null full link
