# The script is valid bash and completes what the command has.
source <(thinpipe --completion bash)
for COMP_LINE in "thinpipe trace " "thinpipe capture --model l" "thinpipe run -c topk:memory=n"; do
  COMP_POINT=${#COMP_LINE}; _thinpipe; echo "${COMPREPLY[*]}"
done
