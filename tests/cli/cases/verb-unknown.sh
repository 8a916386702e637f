thinpipe lst; echo "exit $?"
thinpipe trace inof; echo "exit $?"
thinpipe trace; echo "exit $?"
thinpipe tune
