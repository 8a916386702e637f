# A trace that is missing, is no trace, is cut off: exit code 2, the file and the field named.
try() { thinpipe trace info "$1" 2>&1; echo "exit $?"; }
try nowhere
mkdir empty; try empty
mkdir text; echo "no JSON" > text/trace.json; try text
thinpipe-make-trace cut; truncate -s 100 "$(ls cut/*/* cut/*.safetensors 2>/dev/null | sort | head -1)"; try cut
