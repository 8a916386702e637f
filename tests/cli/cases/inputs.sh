# Inputs that never end, and inputs of other kinds: refused by name at once.
thinpipe-make-trace trace
thinpipe quality --trace trace -c none --out kept > /dev/null
mkdir linked; ln -s /dev/zero linked/records.jsonl
truncate -s 100G sparse
try() { echo "-- $*"; timeout 20 thinpipe "$@"; echo "exit $?"; }
run="run --trace trace --out out --ranks 2 --link rate=100mbit"
for input in /dev/zero . sparse; do
  [ $input != . ] && try report $input && try gate --baseline $input -- quality -c none
  [ $input != . ] && try export $input
  try gate --policy $input --baseline kept --measured kept
  try $run --hosts $input
  try $run --topology $input
  try $run --schedule "csv:file=$input"
done 2>&1
try report linked
try gate --baseline kept --measured linked
try report <(cat /dev/zero) 2>&1 | sed 's|/dev/fd/[0-9]*|PIPE|g'
mkfifo nobody  # nobody writes to it
for signal in INT TERM; do
  for words in "report nobody -o x" "export nobody" "gate --policy nobody --baseline kept --measured kept" \
      "gate --baseline nobody -- quality -c none" "$run --hosts nobody" "$run --topology ./nobody"; do
    # A script's `./check &` ignores SIGINT, and so would what it starts.
    timeout --preserve-status -k 10 -s $signal 0.5 env --default-signal=$signal thinpipe $words
    echo "$signal: exit $?"
  done
done
thinpipe export <(cat kept/records.jsonl) | cmp - <(thinpipe export kept) && echo "a pipe is read"
thinpipe gate --policy <(echo "[gate]") --baseline kept --measured <(cat kept/records.jsonl) | tail -1
[ ! -e out ] && echo "nothing was begun"
