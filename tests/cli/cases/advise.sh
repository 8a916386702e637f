# Advice without measured times: what it names, and what it refuses.
advise() { thinpipe advise --message-time 20us "$@" 2>/dev/null; }
# --seconds 600: everything is measured, however busy the machine is.
advise -m lenet5 --ranks 4 --link rate=1mbit -c topk:ratio=0.01 -c int8 --seconds 600 --json |
  python3 -c 'import json, sys
said = json.load(sys.stdin)
print(sorted(said))
print([one["compressor"] for one in said["specs"]], [one["class"] for one in said["classes"]])
for one in said["recommended"]: print(one["compressor"], one["collective"], one["hook"])
print(said["run"])
print(sorted(said["specs"][0]))'
# The text names the same compressors, in 80 columns except for lines to copy.
advise -m lenet5 --ranks 4 --link rate=1mbit -c topk:ratio=0.01 -c int8 --seconds 600 |
  python3 -c 'import sys
text = sys.stdin.read()
flat = " ".join(text.split())
print(max(len(line) for line in text.splitlines() if "thinpipe" not in line) <= 80)
print([word in flat for word in ("Fastest: topk:ratio=0.01,", "Fastest with an error of at most 10 %: int8,",
                                 "recipe error-feedback", "ddp_hook", "Assumed:")])'
# The compute times of a ResNet-50 are estimated for a GPU, and those of a LeNet-5 are measured on a CPU.
advise -m resnet50 -c 3lc --json --seconds 1 | python3 -c 'import json, sys
print(json.load(sys.stdin)["memory_bound_codecs"])'
thinpipe advise -m lenet5 --codecs memory
thinpipe advise
thinpipe advise -m lenet5 --trace trace
thinpipe advise -m resnet51
thinpipe advise -m lenet5 --link none
thinpipe advise -m lenet5 --link 'rate=1gbit|10gbit'
thinpipe advise -m lenet5 --link rate=1gbit,loss=1%
thinpipe advise -m lenet5 --collective ps:servers=1
thinpipe advise -m lenet5 -c variance
thinpipe advise -m lenet5 -c 'conv*:none;*:topk'
thinpipe advise -m lenet5 --ranks 0
# Default compressors that the collective cannot exchange are left out, but not those of the user.
thinpipe advise -m lenet5 --ranks 4 --collective gtopk --message-time 20us --seconds 600 > advice 2> said
echo "exit $?"; grep -c 'left out: .*3lc.*, which gtopk cannot exchange' said; grep -o '^topk' advice | head -1
