# Errors in a schedule are reported before anything is set up.
thinpipe net play --schedule 'stesp:0s=1mbit'
thinpipe net play --schedule 'steps:0s=100%,5s=fast'
thinpipe net play --schedule 'outage:every=1s,lasts=2s'
printf '1\n5\n4\n' > trace.down
thinpipe net play --schedule trace.down
printf 'time_s,rate_mbit\n0,10\n1,ten\n' > link.csv
thinpipe net play --schedule link.csv
thinpipe net play --link delay=10ms --schedule 'outage:every=2s,lasts=1s'
thinpipe run --trace . --out out --schedule 'sine:low=0.0001%,high=50%,period=1s'
