# Impossible links are refused before anything is built: the field, the value, what is expected.
for link in rate=fast rate=200gbit rate=1mbit,dealy=10ms ltee rate=1mbit,loss=0.01 \
  rate=1mbit,queue=2bdp rate=1mbit,mtu=100 rate=1mbit,burst=1000 delay=10ms,dist=normal \
  up.rate=1mbit,down.queue=64kb; do
  thinpipe net verify --link "$link"
  echo "exit $?"
done
thinpipe run --trace none --out none --link delay=10ms
