# Inputs that cannot be imported: the file and the field are named, and nothing is left behind.
mkdir in
try() { thinpipe trace import in --out out "$@"; echo "exit $?"; ls -d out 2>/dev/null; }
try
echo nonsense > in/1.npz; try
printf '\x93NUMPY\x01\x00\x30\x00%-48s1234' "{'descr': '<i4','fortran_order':False,'shape':(1,)}" > in/1.npy; rm in/1.npz; try
try --rename x
try --pattern '{epoch}.npy'
rm in/1.npy; echo '{"schema": "1.0.1", "nodes": [{"name": "aten::add", "id": 1}]}' > in/rank0.json; try
echo '{' > in/rank0.json; try
try --format npy
thinpipe trace import nowhere --out out; echo "exit $?"
thinpipe trace import in --out in --format chakra; echo "exit $?"
