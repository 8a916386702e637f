# A plug-in's payloads in files: decoded with the plug-in, refused by name without it.
thinpipe-make-trace trace
plugin="$BIN/../plugins/example_stride.so"
thinpipe compress -c example-stride:n=4 -i trace/rank-000/step-00000000.safetensors -o step.tpp \
  --plugin "$plugin" | tail -2 | head -1 | cut -c-58
thinpipe decompress -i step.tpp -o decoded.safetensors --plugin "$plugin" | tail -1 | cut -c-71
thinpipe decompress -i step.tpp -o other.safetensors 2>&1 | sed 's/ (known:.*//'
thinpipe quality --trace trace -c example-stride:n=4 --plugin "$plugin" | awk '/^example/ && !seen++ { print $1, $2, $3, $4 }'
ls
