"""The kernels that in_guest.py boots, and how: user-mode Linux, and Debian's kernel under QEMU."""
import ctypes
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ("veth", "bridge", "ifb", "sch_tbf", "sch_htb", "sch_netem", "sch_ingress", "sch_prio",
           "sch_fq_codel", "cls_u32", "cls_matchall", "act_mirred", "tcp_bbr")
FILE_MODULES = ("virtio_pci", "9pnet_virtio", "9p")  # with which a guest of QEMU sees our files
PR_SET_PDEATHSIG = 1  # linux/prctl.h
GUEST_PRIORITY = 10  # of 1 to 99: before all ordinary programs


class NoKernel(Exception):
    """This kernel cannot be booted on this machine; the text is the reason."""


def find_program(name, package):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/bin:/bin:/usr/sbin:/sbin")
    if not found:
        raise NoKernel(f"no {name} in PATH (Debian: {package})")
    return found


def plain_name(path):
    return pathlib.PurePath(path).stem.replace("-", "_")


def needs_of(file):
    """The modules that must be loaded before a module, as the module lists them."""
    text = re.search(rb"\0depends=([^\0]*)\0", file.read_bytes())
    return text[1].decode().replace("-", "_").split(",") if text and text[1] else []


def module_files(folder, names):
    """The modules' files in an order in which they can be loaded."""
    try:
        builtin = {plain_name(line) for line in (folder / "modules.builtin").read_text().split()}
    except OSError as error:
        raise NoKernel(f"{error.filename}: {error.strerror}") from error
    by_name = {plain_name(file): file for file in folder.rglob("*.ko")}
    files = []

    def add(name):
        if name in builtin:
            return
        if name not in by_name:
            raise NoKernel(f"the kernel of {folder} has no module {name}")
        for needed in needs_of(by_name[name]):
            add(needed)
        if by_name[name] not in files:
            files.append(by_name[name])

    for name in names:
        add(name)
    return files


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class UserModeLinux:
    """A kernel that is a program. It sees this machine's files by its own hostfs."""

    kind = "uml"
    # The time from start to init's first line was 1.2 s on a machine with 2 cores, and 2.3 s at
    # ordinary priority beside eight busy processes. The limit is about four times the longer time.
    # Tests of kernels that do not boot set a shorter time.
    seconds_to_init = float(os.environ.get("THINPIPE_GUEST_SECONDS", 10))

    def __init__(self):
        self.program = find_program(os.environ.get("THINPIPE_UML", "linux.uml"), "user-mode-linux")
        self.busybox = find_program("busybox", "busybox-static")
        try:
            version = subprocess.run([self.program, "--version"], capture_output=True, text=True,
                                     check=False)
        except OSError as error:
            raise NoKernel(f"{self.program}: {error.strerror}") from error
        release = version.stdout.strip()
        if version.returncode != 0 or not release:
            raise NoKernel(f"{self.program} does not start: {version.stderr.strip()}")
        self.name = f"user-mode Linux {release}"
        self.modules = module_files(pathlib.Path("/usr/lib/uml/modules") / release, MODULES)

    def command(self, memory, shares, work):  # pylint: disable=unused-argument
        return [self.program, f"mem={memory}M", "rootfstype=hostfs", "rootflags=/", "ro",
                f"init={work}/init", f"uml_dir={work}", "umid=guest", "con=null",
                "con0=null,fd:1", "ssl=null"]

    def first_lines(self):
        """The init script's first lines. Its root file system is this machine's."""
        busybox = shlex.quote(self.busybox)
        return [f"{busybox} mount -t proc proc /proc", f"{busybox} mount -t sysfs sysfs /sys",
                f"{busybox} mkdir -p /dev/shm /dev/pts",
                *(f"{busybox} insmod {shlex.quote(str(file))}" for file in self.modules)]

    def mount(self, number, folder, writable):  # pylint: disable=unused-argument
        """A line that mounts this machine's folder at the same path."""
        return (f"{shlex.quote(self.busybox)} mount {'-w' if writable else '-r'} -t hostfs "
                f"-o {shlex.quote(folder)} hostfs {shlex.quote(folder)}")

    def environment(self, memory, work):
        """The guest's memory is an unlinked file: in memory if enough is free, else on disk."""
        try:
            shm = os.statvfs("/dev/shm")
            if not shm.f_flag & os.ST_NOEXEC and shm.f_bavail * shm.f_frsize >= memory << 20:
                return {"TMPDIR": "/dev/shm"}
        except OSError:
            pass
        return {"TMPDIR": work}

    def prepare_process(self):
        """In the child, before the guest starts."""
        die_with_parent()
        # If a guest's timers wait for other programs' time slices, its links stall. With priority
        # over other programs on one core (the guest has no more) it keeps time on a busy machine
        # too. This needs root. The policy is round robin because the parent has the same priority:
        # a guest that spins must not keep its parent from ending. The parent's end ends the guest.
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(GUEST_PRIORITY))
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        except PermissionError:
            pass


class Qemu:
    """Debian's kernel on a CPU that QEMU emulates (TCG: no rights and no KVM needed). It sees
    this machine's files by 9p.

    Its clock is not this machine's: `-icount shift=0` lets a nanosecond pass with each instruction,
    and `sleep=off` moves the clock to the next timer when the guest has nothing to do. So the guest
    is a machine of a thousand million instructions a second whose timers are never late, however
    slow and however busy this machine is. Only its files come from outside, in this machine's time.
    So that no timeout passes while a program is read, a process that runs when no other does keeps
    the next timer within 0.1 ms: the clock then goes at most 5 times as fast as this machine's,
    instead of 2000 times.
    """

    kind = "qemu"
    # Likewise: 7.9 s, and 16 s beside eight busy processes.
    seconds_to_init = 60

    def __init__(self):
        self.program = find_program("qemu-system-x86_64", "qemu-system-x86; ./setup --qemu")
        self.busybox = find_program("busybox", "busybox-static")
        self.ticker = [find_program("chrt", "util-linux"), "--idle", "0",
                       find_program("perl", "perl-base"), "-e",
                       "select(undef, undef, undef, 1e-4) while 1"]
        self.image, self.modules = self.find_kernel()
        self.name = f"Linux {self.image.name.partition('-')[2]} under QEMU"

    @staticmethod
    def find_kernel():
        """The kernel that ./setup --qemu has fetched, or else one that is installed."""
        reasons = []
        for root in (ROOT / "build" / "guest-kernel", pathlib.Path("/")):
            for image in sorted(root.glob("boot/vmlinuz-*"), reverse=True):
                modules = root / "lib" / "modules" / image.name.partition("-")[2]
                try:
                    if not os.access(image, os.R_OK):
                        raise NoKernel(f"{image} is not readable")
                    return image, module_files(modules, FILE_MODULES + MODULES)
                except NoKernel as reason:
                    reasons.append(str(reason))
        raise NoKernel("; ".join([*reasons, "no kernel for it (./setup --qemu fetches Debian's)"]))

    def command(self, memory, shares, work):
        # The first file system holds busybox and the modules; its init goes on with the script.
        init = ["#!/busybox sh", "/busybox mkdir -p /dev /root",
                *(f"/busybox insmod /modules/{file.name}" for file in self.modules),
                "/busybox mount -t 9p -o ro,cache=loose," + NINE_P + " files /root",
                # Until then /root/proc is that of this machine, where `self` is QEMU.
                "/busybox mount -t proc proc /root/proc", "/busybox mount -t sysfs sysfs /root/sys",
                f"exec /busybox switch_root /root {shlex.quote(work + '/init')}"]
        files = {"busybox": pathlib.Path(self.busybox).read_bytes(),
                 "init": ("\n".join(init) + "\n").encode(), "modules": None}
        files.update({f"modules/{file.name}": file.read_bytes() for file in self.modules})
        pathlib.Path(work + "/initramfs").write_bytes(cpio_archive(files))
        words = [self.program, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                 "-m", f"{memory}M", "-accel", "tcg", "-icount", "shift=0,sleep=off",
                 "-rtc", "base=utc,clock=vm", "-serial", "stdio", "-kernel", str(self.image),
                 "-initrd", work + "/initramfs", "-append",
                 "console=ttyS0 mitigations=off panic=-1 tsc=reliable"]
        for number, (folder, writable) in [("files", ("/", False)), *enumerate(shares)]:
            words += ["-fsdev", f"local,id=fs{number},path={folder.replace(',', ',,')},"
                      "security_model=none,multidevs=remap" + ("" if writable else ",readonly=on"),
                      "-device", f"virtio-9p-pci,fsdev=fs{number},mount_tag={number}"]
        return words

    def first_lines(self):
        busybox = shlex.quote(self.busybox)
        return [f"{busybox} mount -t devtmpfs devtmpfs /dev",
                f"{busybox} mkdir -p /dev/pts /dev/shm",
                shlex.join(self.ticker) + " &"]

    def mount(self, number, folder, writable):
        how = "rw,cache=none," if writable else "ro,cache=loose,"
        return (f"{shlex.quote(self.busybox)} mount -t 9p -o {how}{NINE_P} {number} "
                f"{shlex.quote(folder)}")

    def environment(self, memory, work):  # pylint: disable=unused-argument
        return {}

    def prepare_process(self):
        die_with_parent()  # no priority: its clock stands still while it waits for a CPU


NINE_P = "trans=virtio,version=9p2000.L,msize=512000"  # the most that virtio takes at a time


def cpio_archive(files):
    """The files ({path: content, or None for a folder}) as an initramfs has them: cpio's newc."""
    archive = bytearray()
    for number, (path, content) in enumerate([*files.items(), ("TRAILER!!!", b"")], 1):
        name, data = path.encode() + b"\0", content or b""
        mode = 0o40755 if content is None else 0o100755
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        archive += b"070701" + b"".join(b"%08X" % field for field in fields) + name
        archive += bytes(-len(archive) % 4) + data
        archive += bytes(-len(archive) % 4)
    return bytes(archive)


KERNELS = (UserModeLinux, Qemu)  # in the order in which they are tried
