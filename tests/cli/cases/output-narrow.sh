# Nothing that people read is wider than a terminal of 80 columns, but for a long path.
thinpipe-make-trace trace
for words in list doctor "trace info trace" "trace info synthetic:model=lenet5"; do
  thinpipe $words | sed "s|$BIN|BIN|g; s|$PWD|DIR|g" | awk -v words="$words" 'length > 80 {print words ": " $0}'
done
