thinpipe-make-trace trace
thinpipe quality --trace trace -c topk:ratio=0.01 --steps 5 --ranks 1 --json |
  grep -v -E 'encode_ns_per_element|"passes"' | sed -E 's/("spec": )"[^"]*/\1"SPEC/; s/("simd": )"[^"]*/\1"NAME/; s/(\.[0-9]{6})[0-9]+/\1/' | head -86
