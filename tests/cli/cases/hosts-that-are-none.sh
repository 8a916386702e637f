# Names of hosts outside a topology, wherever a schedule may name them. Messages list the hosts.
trace=synthetic:model=lenet5
schedule() { echo "$1:outage:every=10s,lasts=1s"; }
for host in host-1 host-2 host-4 host-0 host2 host1-0 host0-2147483648 host99999999999999999999; do
  thinpipe predict --trace $trace -c none --ranks 2 --link rate=100mbit --schedule "$(schedule $host)"
  echo "exit $?"
done
thinpipe predict --trace $trace -c none --ranks 2 --link rate=100mbit \
  --schedule 'host-2:sine:low=1mbit,high=2mbit,period=1s'
echo "exit $?"
thinpipe run --trace $trace --out out -c none --ranks 2 --link rate=100mbit \
  --schedule "$(schedule host-4)"
echo "exit $?"
thinpipe net play --ranks 2 --link rate=100mbit --schedule "$(schedule host-4)"
echo "exit $?"
thinpipe net verify --link rate=100mbit --schedule "$(schedule host-4)"
echo "exit $?"
thinpipe net verify --topology 'star:host-4=(rate=1mbit)' --ranks 2 --link rate=100mbit
echo "exit $?"
