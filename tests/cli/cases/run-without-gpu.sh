# Gradients on a GPU: a method without a GPU implementation is refused by name (2). Without a GPU:
# what is missing and the remedy (4). Nothing is begun.
if [ -e /dev/nvidia0 ] || [ -e /dev/nvidiactl ]; then echo 'this machine has a GPU'; exit 77; fi
try() {
  thinpipe run --trace synthetic:elements=1k --out out "$@" 2>error
  echo "exit $?"
  sed 's/cuda: .*\. --device/cuda: ... --device/; s/; \(3lc, .*\) are$/; ... are/' error
}
try --device cuda
try --device cuda -c powersgd
try --device cuda -c powersgd --overlap bucket
try --device cuda --time-scale 0.5
try --device cuda --collective ps
try --device cuda --collective ps:pull=powersgd
try --device cuda --collective gtopk
try --device cuda -c none --collective qgz
try --device cuda --local-steps 2
try --device cuda --outer diloco
try --device cuda --time-scale 2
try --device tpu
ls out 2>&1
