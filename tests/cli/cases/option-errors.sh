# Every mistake in options: exit code 2 and a message with what was expected.
try() { thinpipe "$@" 2>&1; echo "exit $?"; }
try --versoin
try list --jsn
try list --json=yes
try trace info
try trace info a b
try capture
try capture --out
try capture --out a --out b
try capture --out a --workers 0
try capture --out a --workers four
try capture --out a --learning-rate 1e999
try capture --out a --model lenet
try --completion zsh
