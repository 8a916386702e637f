# The script is valid bash and completes what the command has.
source <(thinpipe --completion bash)
COMP_WORDS=(thinpipe trace ""); COMP_CWORD=2; _thinpipe; echo "${COMPREPLY[*]}"
COMP_WORDS=(thinpipe capture --model l); COMP_CWORD=3; _thinpipe; echo "${COMPREPLY[*]}"
