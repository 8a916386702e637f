# Names from outside cannot speak to the terminal; JSON and tables for programs have them as they are.
thinpipe-make-trace trace
name='\\u001b]0;title\\u0007\\u009b31m\\u202etext\\u007f\\nidentity'
sed -i "s/\"model\": *\"[^\"]*\"/\"model\":\"$name\"/" trace/trace.json
thinpipe trace info trace | head -2
thinpipe trace info trace --json | grep '"model"'
thinpipe trace info trace --json | python3 -c 'import json, sys; print(ascii(json.load(sys.stdin)["model"]))'
thinpipe quality --trace trace -c none --out kept > shown
thinpipe report kept -f text >> shown
thinpipe trace info $'no\e[2Jtrace' 2>> shown
thinpipe compress -c $'top\e[2Jk' -i x -o y 2>> shown
LC_ALL=C grep -c $'[\e\a\x7f\x9b]' shown
tail -2 shown
