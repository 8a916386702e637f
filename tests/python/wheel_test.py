"""The wheel, installed by pip into a fresh folder, works alone: wheel_test.py BUILD."""
import email
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = sys.argv.pop(1)
PROGRAM = """
import array, os, thinpipe
assert thinpipe.__file__.startswith(os.environ["SITE"]), thinpipe.__file__
from thinpipe import _library
with open("/proc/self/maps") as maps:
    _library.library()
    loaded = {line.split(maxsplit=5)[-1].strip() for line in maps
              if "libthinpipe" in line or "libfmt" in line}
assert loaded and all(path.startswith(os.environ["SITE"]) for path in loaded), loaded
compressor = thinpipe.Compressor("topk:ratio=0.5")
payload = compressor.encode(array.array("f", [1, -3, 2, 0]))
print(thinpipe.version(), len(payload), compressor.report.k_hat)
"""


class Wheel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="thinpipe-python-")
        built = subprocess.run(
            [sys.executable, os.path.join(ROOT, "python", "make_wheel.py"),
             os.path.join(BUILD, "lib", "libthinpipe_compressors.so"), self.folder],
            capture_output=True, text=True, check=False)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.wheel = built.stdout.strip()
        self.site = os.path.join(self.folder, "a site")

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def use(self):
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": self.site, "SITE": self.site}
        ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False,
                             env=environment, cwd=self.folder)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout.split()[1:], ["17", "2"])

    def test_works_unpacked(self):
        with zipfile.ZipFile(self.wheel) as archive:
            self.assertIsNone(archive.testzip())
            info = next(name for name in archive.namelist() if name.endswith("/METADATA"))
            metadata = email.message_from_bytes(archive.read(info))
            self.assertEqual([value for value in metadata.values() if not value], [])
            archive.extractall(self.site)
        self.use()

    def test_is_what_pip_installs(self):
        ran = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--target",
                              self.site, self.wheel], capture_output=True, text=True, check=False)
        if ran.returncode != 0 and "No module named pip" in ran.stderr:
            self.skipTest("no pip")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.use()
        broken = os.path.join(self.site, "thinpipe", "lib")
        shutil.rmtree(broken)
        ran = subprocess.run([sys.executable, "-c", "import thinpipe; thinpipe.version()"],
                             capture_output=True, text=True, check=False, cwd=self.folder,
                             env={"PATH": os.environ["PATH"], "PYTHONPATH": self.site})
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("Install the wheel of thinpipe", ran.stderr)


if __name__ == "__main__":
    unittest.main()
