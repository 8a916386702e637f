# The names of SIDCo's gradient files; a Chakra trace of which only shapes are real.
mkdir grads
for step in 100 10000; do
  printf '\x93NUMPY\x01\x00\x36\x00%-54s12345678' "{'descr': '<f4','fortran_order':False,'shape':(2,)}" \
    > grads/cifar10_resnet20_r0_gradients_iter_$step.npy
done
thinpipe trace import grads --model resnet20 --backward 0.05 --out trace
thinpipe trace info trace
cat > rank0.json <<'J'
{"schema": "1.0.1", "nodes": [
 {"name": "torch::autograd::AccumulateGrad", "id": 7, "inputs": [[1, 2, 0, 2, 4, "cpu"]],
  "input_shapes": [[2, 3]], "input_types": ["Tensor(float)"]}]}
J
thinpipe trace import rank0.json --out drawn --json | grep -v identity
thinpipe trace verify drawn
grep -h origin trace/trace.json drawn/trace.json
