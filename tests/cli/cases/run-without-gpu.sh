# Gradients on a GPU: what has no twin there is refused by name (2); where there is no GPU, what is
# missing and what to do (4); nothing is begun.
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
try --device cuda --pattern ps
try --device cuda --pattern ps:pull=powersgd
try --device cuda --pattern gtopk
try --device cuda -c none --pattern qgz
try --device cuda --local-steps 2
try --device cuda --outer diloco
try --device cuda --time-scale 2
try --device tpu
ls out 2>&1
