thinpipe-make-trace trace
thinpipe compress -c sidco:ratio=0.01 -i trace/rank-000/step-00000000.safetensors -o step.tpp --json |
  grep -v -E '"(seconds|passes|file_bytes)"' |
  sed -E 's/sidco:[^"]*/SPEC/; s/(\.[0-9]{6})[0-9]+/\1/' | head -48
