# ./setup with stand-ins for apt-get and dpkg-query: nothing is installed.
mkdir stubs
for tool in bash env readlink dirname cat chmod touch true; do ln -s "$(type -P $tool)" stubs/; done
stub() { printf '#!/bin/bash\n%s\n' "$2" > "stubs/$1"; chmod +x "stubs/$1"; }
stub dpkg-query 'for last; do :; done; [[ " $HAVE " == *" $last "* || $HAVE == all || -e installed ]] && echo -n installed'
stub apt-cache 'echo "  Candidate: 1.0"'
stub id 'echo "$USER_ID"'
export PATH=$PWD/stubs HAVE=all USER_ID=1000
try() { echo "== $*"; "$ROOT/setup" "$@" 2>&1 | while read -r line; do echo "$line"; done; echo "exit ${PIPESTATUS[0]}"; }

try --wrong
echo "no apt-get:"; try --minimal
stub apt-get 'echo "apt-get $*"; [[ $1 == update ]] && exit 0; [[ $FAILS ]] && exit 100; touch installed'
echo "all there:"; try
HAVE="g++ cmake"
echo "not all there:"; try --dry-run --full
echo "no root, no sudo:"; try --minimal
stub sudo '[[ $1 == -n ]] && shift; [[ $MAY ]] || exit 1; exec "$@"'
export MAY= FAILS=
echo "sudo wants a password:"; try --minimal
USER_ID=0 FAILS=yes
echo "root, apt-get fails twice, with an update between:"; try --minimal
FAILS= USER_ID=1000 MAY=yes
echo "sudo:"; try
echo "again:"; try
