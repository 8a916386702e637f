# Output paths that a user names: links are followed, pipes and descriptors are written to.
thinpipe-make-trace trace
gradient=trace/rank-000/step-00000000.safetensors
thinpipe quality --trace trace -c none --out kept > /dev/null
thinpipe export kept > table.csv
mkdir real; echo old > real/table.csv; chmod 604 real/table.csv; ln -s real/table.csv link.csv
thinpipe export kept -o link.csv
stat -c '%N %a' link.csv; stat -c '%n %a' real/table.csv; cmp table.csv real/table.csv && echo "the link's target"
ln -s real/page.md new.md
(umask 027; thinpipe report kept -f md -o new.md)
stat -c '%N' new.md; stat -c '%n %a' real/page.md
mkfifo pipe
cat pipe > through.csv & thinpipe export kept -o pipe; wait
cmp table.csv through.csv && echo "through a pipe"; stat -c '%n %F' pipe
(echo before; thinpipe export kept -o /dev/stdout; echo behind) > descriptor.csv
cmp <(echo before; cat table.csv; echo behind) descriptor.csv && echo "to a descriptor, at its place"
thinpipe compress -c none -i $gradient -o /dev/fd/3 3> three.tpp > /dev/null
thinpipe decompress -i three.tpp -o /proc/self/fd/3 3> three.safetensors | tail -1 | cut -c 1-30
thinpipe export kept -o real; echo "exit $?"
thinpipe export kept -o nowhere/table.csv; echo "exit $?"
ls -A . real
thinpipe quality --trace trace -c none --out table.csv; echo "exit $?"
