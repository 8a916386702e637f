"""The Debian packages, in a clean root: apt resolves what they declare, an ordinary user works with them.

package_test.py BUILD SOURCE WORK. Needs root, debootstrap and a mirror (THINPIPE_DEBIAN_MIRROR, else
deb.debian.org); ends with 77, which is a skipped test, where one of them is missing.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.request

SKIPPED = 77
SUITE = "bookworm"
MIRROR = os.environ.get("THINPIPE_DEBIAN_MIRROR", "http://deb.debian.org/debian")

# pivot_root, not chroot: from within a chroot the kernel lets nobody make user namespaces.
ENTER = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
cd "$1"
pivot_root . mnt
umount -l /mnt
cd "$2"
shift 2
exec "$@"
"""


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def run(*words, **options):
    """Runs a program, which must end well; returns all that it wrote."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        sys.exit(f"{words} ended with {done.returncode}:\n{done.stdout[-6000:]}")
    return done.stdout


def must_match(pattern, text):
    if not re.search(pattern, text):
        sys.exit(f"'{pattern}' is not in:\n{text[-4000:]}")


class Root:
    """A Debian system in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def words(self, directory, *words):
        clean = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
                 "DEBIAN_FRONTEND=noninteractive", f"HOME={directory}"]
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "enter",
                str(self.folder), directory, *clean, *words]

    def as_root(self, *words):
        return run(*self.words("/root", *words))

    def as_user(self, *words):
        return run(*self.as_user_words(*words))

    def as_user_words(self, *words):
        return self.words("/home/user", "setpriv", "--reuid=1000", "--regid=1000", "--clear-groups",
                          *words)

    def install(self, *packages):
        return self.as_root("apt-get", "install", "-y", "--no-install-recommends", *packages)


def build_packages(build, work):
    folder = work / "packages"
    run("cpack", "-G", "DEB", "-B", folder, cwd=build)
    return sorted(folder.glob("*.deb"))


def look_with_lintian(packages):
    if shutil.which("lintian"):
        run("lintian", "--fail-on", "error", "--allow-root", *packages)
    else:
        print("no lintian: the packages' form was not looked at")


def clean_root(work):
    for program in ("debootstrap", "unshare"):
        if not shutil.which(program):
            skip(f"no {program}")
    if os.geteuid() != 0:
        skip("only root can make a clean root")
    try:
        urllib.request.urlopen(f"{MIRROR}/dists/{SUITE}/Release", timeout=20).close()
    except OSError as error:
        skip(f"no mirror at {MIRROR}: {error}")
    root = Root(work / "root")
    cache = work / "cache"
    cache.mkdir(exist_ok=True)
    run("debootstrap", "--variant=minbase", f"--cache-dir={cache}", SUITE, root.folder, MIRROR)
    shutil.copy("/etc/resolv.conf", root.folder / "etc/resolv.conf")
    root.as_root("useradd", "--create-home", "--uid", "1000", "user")
    root.as_root("apt-get", "update")
    return root


def use_it(root, version):
    """As a newcomer would, with thinpipe alone."""
    if root.as_user("thinpipe", "--version") != f"thinpipe {version}\n":
        sys.exit("--version is another than the project's")
    must_match("This machine can run thinpipe", root.as_user("thinpipe", "doctor"))
    must_match("sidco", root.as_user("thinpipe", "list"))
    refused = subprocess.run(root.as_user_words("thinpipe", "capture", "--out", "none"), text=True,
                             capture_output=True)
    if refused.returncode != 4:
        sys.exit(f"capture without training ended with {refused.returncode}")
    must_match("install the package thinpipe-training", refused.stderr)
    refused = subprocess.run(
        root.as_user_words("thinpipe", "run", "--trace", "synthetic:elements=1000", "--out", "none",
                           "--engine", "simgrid"), text=True, capture_output=True)
    if refused.returncode != 4:
        sys.exit(f"run without simulation ended with {refused.returncode}")
    must_match("install the package thinpipe-simulation", refused.stderr)


def simulate(root):
    root.as_user("thinpipe", "run", "--trace", "synthetic:elements=10000", "--out", "simulated",
                 "--engine", "simgrid", "--ranks", "16", "--steps", "2", "-c", "topk:ratio=0.01")
    must_match('"engine":"simgrid"',
               (root.folder / "home/user/simulated/records.jsonl").read_text().replace(" ", ""))


def measure(root):
    root.as_user("thinpipe", "capture", "--model", "lenet5", "--workers", "2", "--out",
                 "trace")
    root.as_user("thinpipe", "run", "--trace", "trace", "--out", "out", "--ranks", "2", "--link",
                 "rate=100mbit", "--steps", "2", "-c", "topk:ratio=0.01")
    records = (root.folder / "home/user/out/records.jsonl").read_text()
    if '"status":"failed"' in records.replace(" ", "") or "topk" not in records:
        sys.exit(f"the run failed:\n{records[-3000:]}")
    root.as_user("thinpipe", "report", "out")
    must_match("<svg", (root.folder / "home/user/out/report.html").read_text())


def build_against_it(root, source):
    consumer = root.folder / "home/user/consumer"
    shutil.copytree(source / "tests/install/consumer", consumer)
    install = (source / "cmake/ThinpipeInstall.cmake").read_text(encoding="utf-8")
    faces = re.search(r"set\(THINPIPE_FACES\s+([^)]*)\)", install)[1].split()
    subprocess.run([sys.executable, source / "tests/install/header_examples.py",
                    root.folder / "usr/include/thinpipe", consumer / "examples.cc", *faces],
                   check=True)
    root.as_user("cmake", "-S", "consumer", "-B", "/tmp/consumer", "-DCMAKE_BUILD_TYPE=Debug",
                 "-DEXAMPLES=examples.cc")
    root.as_user("cmake", "--build", "/tmp/consumer")
    must_match("the examples run", root.as_user("/tmp/consumer/consumer"))


def remove_it(root):
    root.as_root("apt-get", "purge", "-y", "thinpipe", "libthinpipe-dev", "thinpipe-training",
                 "thinpipe-simulation")
    left = [path for path in (root.folder / "usr").rglob("*thinpipe*")]
    if left:
        sys.exit(f"left behind: {left}")


def main():
    build, source, work = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    shutil.rmtree(work / "root", ignore_errors=True)
    shutil.rmtree(work / "packages", ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    packages = build_packages(build, work)
    look_with_lintian(packages)
    names = {path.name.split("_")[0]: path for path in packages}
    if set(names) != {"thinpipe", "libthinpipe-dev", "thinpipe-simulation", "thinpipe-training"}:
        sys.exit(f"packages: {sorted(names)}")
    version = names["thinpipe"].name.split("_")[1].rsplit("-", 1)[0]
    root = clean_root(work)
    try:
        for path in packages:
            shutil.copy(path, root.folder / "tmp" / path.name)
        root.install(f"/tmp/{names['thinpipe'].name}")
        use_it(root, version)
        root.install(f"/tmp/{names['thinpipe-training'].name}")
        measure(root)
        root.install(f"/tmp/{names['thinpipe-simulation'].name}")
        simulate(root)
        root.install(f"/tmp/{names['libthinpipe-dev'].name}", "g++", "make", "cmake")
        build_against_it(root, source)
        remove_it(root)
    finally:
        shutil.rmtree(root.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
