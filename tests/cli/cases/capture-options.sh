# Options that are each right but cannot be together are refused before anything is trained.
try() { thinpipe capture --out trace "$@" 2>&1; echo "exit $?"; }
try --steps 5
try --from 1
try --momentum 1
ls
