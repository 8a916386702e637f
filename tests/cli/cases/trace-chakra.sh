# Execution traces for simulators: sizes and order in a reader of the schema alone; an import of them.
thinpipe-make-trace trace
thinpipe trace export trace --format chakra --steps 0-1 --out et
code=$?
[[ $code -ne 4 ]] || exit 77  # this build has no protobuf
show() { python3 "$ROOT/tests/trace/read_execution_trace.py" "$1" | sed -E '/(en|de)code bucket/s/NODE [0-9]+/NODE N/; /^trace/d'; }
ls et
show et/synthetic.1.et | sed -n 1,24p
thinpipe trace export trace --format chakra --steps 2 --ranks 1 -c fp16:exchange=allgather --overlap bucket --out et1
show et1/synthetic.0.et | grep -e COLL -e compressor
thinpipe trace import et --out back
thinpipe trace info back | grep -v identity
head -c 100 et/synthetic.0.et > cut.et; thinpipe trace import cut.et --out none 2>&1 | sed 's/found [0-9]* bytes, expected at most [0-9]*/found N bytes/'
ls -d none
thinpipe trace export trace -c topk --out none; echo "exit $?"
thinpipe trace export trace --format chakra --tensors tensor-0 --out none; echo "exit $?"
thinpipe trace export trace --format chakra --device cuda --out none; echo "exit $?"
thinpipe trace export trace --format chakra --codec-times out --overlap bucket --out none; echo "exit $?"
