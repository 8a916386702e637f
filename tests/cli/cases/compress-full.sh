# A full disk, simulated by a limit on a file's size: an error, and no half-written file stays.
thinpipe-make-trace trace
gradient=trace/rank-000/step-00000000.safetensors
trap '' XFSZ
(ulimit -f 8; thinpipe compress -c none -i $gradient -o step.tpp --state worker.state); echo "exit $?"
thinpipe compress -c none -i $gradient -o step.tpp > /dev/null
(ulimit -f 8; thinpipe decompress -i step.tpp -o decoded.safetensors); echo "exit $?"
(ulimit -f 8; thinpipe quality --trace trace -c none --dump-decoded dump); echo "exit $?"
find dump step.tpp | sort
ls
