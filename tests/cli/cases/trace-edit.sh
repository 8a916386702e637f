# Out, in again, apart and together.
thinpipe-make-trace trace
for format in npz npy safetensors; do
  thinpipe trace export trace --format $format --out $format
  thinpipe trace import $format --out back-$format && thinpipe trace verify back-$format
done
find npz npy | LC_ALL=C sort | head -20
thinpipe trace slice trace --ranks 0 --out a
thinpipe trace slice trace --ranks 1 --out b
thinpipe trace slice trace --steps 1-2 --tensors 'tensor-[12]' --out c
thinpipe trace merge a b --out whole && thinpipe trace verify whole
cmp whole/rank-001/step-00000002.safetensors trace/rank-001/step-00000002.safetensors && echo same
thinpipe trace merge a c --out none; echo "exit $?"
thinpipe trace merge a a --by steps --out none; echo "exit $?"
thinpipe trace slice trace --tensors 'conv*' --out none; echo "exit $?"
thinpipe trace export trace --out npz; echo "exit $?"
ls
