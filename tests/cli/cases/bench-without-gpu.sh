# Without a GPU: exit code 4, what is missing and the remedy, before anything is measured.
if [ -e /dev/nvidia0 ] || [ -e /dev/nvidiactl ]; then echo 'this machine has a GPU'; exit 77; fi
thinpipe bench --device 'cpu|cuda' --size 1k 2>error
echo "exit $?"
sed 's/cuda: .*\. --device/cuda: ... --device/' error
thinpipe bench --device cuda -c topkk --size 1k 2>&1 | sed 's/ (known: [^)]*)//'
