# A step's gradients into frames and back; sizes are exact, times are not shown.
strip() { sed -E 's/ +[0-9.]+ (ns|us|ms|s)$/ TIME/'; }
thinpipe-make-trace trace
thinpipe compress -c topk:ratio=0.01 -i trace/rank-000/step-00000000.safetensors -o step.tpp | strip
thinpipe decompress -i step.tpp -o decoded.safetensors | strip
thinpipe decompress -i step.tpp -o decoded.safetensors --json | grep -v seconds | sed 's/topk:[^"]*/SPEC/' | head -24
