# Bad files: exit code 2, file and field named, nothing left behind.
try() { "$@" 2>&1; echo "exit $?"; }
thinpipe-make-trace trace; gradient=trace/rank-000/step-00000000.safetensors
thinpipe compress -c none -i $gradient -o good.tpp >/dev/null
try thinpipe compress -c topk -i nowhere -o x.tpp
try thinpipe compress -c topk -i trace/trace.json -o x.tpp
try thinpipe compress -c 'topk:ratio=0.1|0.01' -i $gradient -o x.tpp
try thinpipe compress -c topk -i $gradient -o nowhere/x.tpp
try thinpipe compress -c topk -i $gradient -o $gradient
try thinpipe compress -c topk -i $gradient -o ./$gradient
ln -s $gradient link; try thinpipe compress -c topk -i $gradient -o link; rm link
try thinpipe compress -c topk -i $gradient -o x.tpp --state "$PWD/x.tpp"
try thinpipe compress -c topk:delay=2 -i $gradient -o x.tpp
head -c 200 good.tpp > cut.tpp; try thinpipe decompress -i cut.tpp -o x.safetensors
head -c 60 good.tpp > cut.tpp; try thinpipe decompress -i cut.tpp -o x.safetensors
{ cat good.tpp; echo; } > long.tpp; try thinpipe decompress -i long.tpp -o x.safetensors
{ head -c 90 good.tpp; printf 'x'; tail -c +92 good.tpp; } > bad.tpp
try thinpipe decompress -i bad.tpp -o x.safetensors
try thinpipe decompress -i good.tpp -o x.safetensors --max-elements 100
try thinpipe decompress -i $gradient -o x.safetensors
: > empty.tpp; try thinpipe decompress -i empty.tpp -o x.safetensors
ls
