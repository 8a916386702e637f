# A step's gradients into frames and back; sizes are exact, times are not shown.
# A frame holds the whole spec, so the file's size is that of the day.
strip() { sed -E 's/ +[0-9.]+ (ns|us|ms|s)$/ TIME/; s/: .* in step/: SIZE in step/'; }
thinpipe-make-trace trace
thinpipe compress -c topk:ratio=0.01 -i trace/rank-000/step-00000000.safetensors -o step.tpp | strip
thinpipe decompress -i step.tpp -o decoded.safetensors | strip
thinpipe decompress -i step.tpp -o decoded.safetensors --json | grep -v -E 'seconds|file_bytes' | sed -E 's/(\.[0-9]{6})[0-9]+/\1/' | sed 's/topk:[^"]*/SPEC/' | head -24
