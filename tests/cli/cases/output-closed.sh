# A reader that has seen enough is no error; a full disk is.
thinpipe list | true
echo "${PIPESTATUS[0]}"
thinpipe list --json > /dev/full
