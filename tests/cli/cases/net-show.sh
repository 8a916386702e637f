# Every kind drawn, a file too, and refusals; no case needs namespaces.
thinpipe net show --topology 'racks:host3=(rate=0.1x)' --ranks 8 --link rate=1gbit
thinpipe net show --topology 'wan:sites=3,site0-site2=(rate=5mbit)' --ranks 6 --json | head -12
printf 'switch hall hosts=3\nswitch attic hosts=1\nlink hall attic rate=0.5x # old cable\n' > house.topo
thinpipe net show --topology house.topo --svg house.svg
head -2 house.svg
thinpipe net show --topology house.topo --ranks 5
printf 'switch hall hosts=3\nlink hall attic\n' > house.topo
thinpipe net show --topology house.topo
thinpipe net show --topology rack
thinpipe net show --topology star --svg nowhere/house.svg
