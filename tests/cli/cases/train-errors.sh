# Refused before any program starts.
thinpipe train --model lenet5 --out out --target ppl=3
thinpipe train --model lenet5 --out out --target speed=3
thinpipe train --model lenet5 --out out --optimiser sgd:lr=x
thinpipe train --model lenet5 --out out -c no-such
thinpipe train --model no-such --out out
thinpipe train --model lenet5 --out out --steps 20 --capture traces --capture-every 21
thinpipe train --model lenet5 --out out --lr-schedule sometimes
