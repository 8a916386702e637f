# A reader that has seen enough is no error; a full disk is.
thinpipe list | true
echo "${PIPESTATUS[0]}"
thinpipe list --json > /dev/full
# Without standard error, messages do not get into the file that is opened next.
thinpipe bench -c none --size '1k|2k' --residency cache --warmup 2 --repetitions 2 --min-time 1e-5 \
  --out timed > /dev/null 2>&-
echo "exit $?"
thinpipe export timed > /dev/null
echo "exit $?"
thinpipe list >&-
echo "exit $?"
