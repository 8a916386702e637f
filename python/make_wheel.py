#!/usr/bin/env python3
"""Makes thinpipe's wheel: the package, the library, and the libraries that it needs.

make_wheel.py LIBRARY FOLDER: writes thinpipe-VERSION-py3-none-PLATFORM.whl to FOLDER and prints its path.
LIBRARY is libthinpipe_compressors.so.

A wheel is a ZIP archive with three files of metadata (the Binary Distribution Format of the Python
Packaging User Guide). setuptools would make it too, but is missing from Python 3.12 and newer, and pip
fetches it from the network. The platform is manylinux with the version of this machine's C library, because
the wheel has every other library: pip refuses it where the C library is older.
"""
import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import zipfile

PACKAGE = pathlib.Path(__file__).resolve().parent / "thinpipe"
# Libraries that every Linux system has, in the policies of manylinux.
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so")
METADATA = """Metadata-Version: 2.1
Name: thinpipe
Version: {version}
Summary: Gradient compressors, traces and records of thinpipe, and a hook for PyTorch
License: Apache-2.0
Requires-Python: >=3.8
"""
WHEEL = """Wheel-Version: 1.0
Generator: thinpipe
Root-Is-Purelib: false
Tag: {tag}
"""


def needed_libraries(library):
    """Paths of the libraries that LIBRARY loads, the system's left out."""
    listing = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    missing = re.findall(r"(\S+) => not found", listing)
    if missing:
        raise SystemExit(f"make_wheel.py: {library} needs {', '.join(missing)}, which is not found")
    return [path for path in re.findall(r"=> (/\S.*) \(0x", listing)
            if not OF_THE_SYSTEM.match(os.path.basename(path))]


def soname(library):
    """The name by which other libraries load it: that of the file without the last numbers."""
    listing = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    return re.search(r"SONAME.*\[(.*)\]", listing)[1]


def main(library, folder):
    version = re.search(r'__version__ = "(.*)"', (PACKAGE / "__init__.py").read_text())[1]
    libc = platform.libc_ver()[1].replace(".", "_")
    tag = f"py3-none-manylinux_{libc}_{platform.machine()}"
    info = f"thinpipe-{version}.dist-info"
    files = {f"thinpipe/{path.name}": path.read_bytes()
             for path in [*sorted(PACKAGE.glob("*.py")), PACKAGE / "py.typed"]}
    files[f"thinpipe/lib/{soname(library)}"] = pathlib.Path(library).read_bytes()
    for needed in needed_libraries(library):
        files[f"thinpipe/lib/needed/{soname(needed)}"] = pathlib.Path(needed).read_bytes()
    files[f"{info}/LICENSE"] = (PACKAGE.parents[1] / "LICENSE").read_bytes()
    files[f"{info}/METADATA"] = METADATA.format(version=version).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    record = [f"{name},sha256={digest_of(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()

    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    path = pathlib.Path(folder) / f"thinpipe-{version}-{tag}.whl"
    with zipfile.ZipFile(path.with_suffix(".partial"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same bytes from the same files
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    os.replace(path.with_suffix(".partial"), path)
    print(path)


def digest_of(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
