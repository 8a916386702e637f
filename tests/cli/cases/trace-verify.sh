# One flipped bit: the sizes are still right, so `info` accepts what `verify` refuses.
thinpipe-make-trace trace && thinpipe trace verify trace; echo "exit $?"
file=$(ls trace/*/* trace/*.safetensors 2>/dev/null | sort | tail -1)
python3 - "$file" <<'P'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(-1, 2)
    last = file.read(1)[0]
    file.seek(-1, 2)
    file.write(bytes([last ^ 1]))
P
thinpipe trace info trace > info.txt; echo "exit $?"
thinpipe trace verify trace
