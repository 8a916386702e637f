# ./setup with stand-ins for apt-get and dpkg-query: nothing is installed.
mkdir stubs
for tool in bash env readlink dirname cat chmod touch true sed mkdir mktemp mv rm tar find sort cp; do ln -s "$(type -P $tool)" stubs/; done
stub() { printf '#!/bin/bash\n%s\n' "$2" > "stubs/$1"; chmod +x "stubs/$1"; }
stub dpkg-query 'for last; do :; done; [[ " $HAVE " == *" $last "* || $HAVE == all || -e installed ]] && echo -n installed'
stub apt-cache 'echo "  Candidate: 1.0"'
stub id 'echo "$USER_ID"'
export PATH=$PWD/stubs HAVE=all USER_ID=1000
try() { echo "== $*"; "${FOLDER-$ROOT}/setup" "$@" 2>&1 | while read -r line; do echo "$line"; done; echo "exit ${PIPESTATUS[0]}"; }

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

echo "a kernel for QEMU, whose package is fetched after an update of the lists:"
modules=kernel/lib/modules/6.1/kernel
mkdir -p here kernel/boot $modules/{drivers/{net,virtio},net/{9p,802,bridge,ipv4,llc,sched,wireless},fs/{9p,fscache,netfs}}
for folder in $modules/{drivers/virtio,net/*,fs/*}; do touch "$folder/one.ko"; done
touch kernel/boot/{vmlinuz,config}-6.1 $modules/{../modules.builtin,drivers/net/{veth,ifb}.ko}
cp "$ROOT/setup" here/
export FOLDER=here BASE=$PWD
stub apt-cache 'echo "  Depends: linux-image-6.1"'
stub dpkg 'exec tar -c -C "$BASE/kernel" .'
stub apt-get '[[ $1 != update ]] || touch "$BASE/updated"; [[ -e $BASE/updated ]] || exit 100; [[ $1 != download ]] || touch "${!#}.deb"'
try --qemu
(cd here/build && find . -type f | LC_ALL=C sort)
echo "it is there:"; rm "$BASE/updated"; try --qemu
echo "it cannot be had:"; rm -r here/build; stub dpkg 'exit 1'; try --qemu
(cd here/build && find .)
