# Impossible measurements, and impossible combinations, are refused before anything is built.
try() { thinpipe net verify "$@"; echo "exit $?"; }
try --only rtt,speed
try --json --markdown
try --topology racks --only rtt
try --schedule 'steps:0s=100%' --quick
try --link delay=10ms --schedule 'steps:0s=50%'
try --ranks 4 --link rate=10mbit,loss=1%
try --ranks 1 --link rate=10mbit
