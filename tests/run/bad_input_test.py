"""Impossible runs are refused with the reason before anything is made."""
import os
import subprocess

from run_case import THINPIPE, RunCase, main


class BadInputTest(RunCase):
    def refuse(self, expected, *arguments, code=2, **options):
        error = self.run_thinpipe(*arguments, code=code, **options)
        self.assertIn(expected, error)
        self.assert_nothing_left()
        self.assertFalse(os.path.exists(self.out), "a refused run made its output folder")

    def test_input_that_cannot_be(self):
        trace = self.trace()
        run = ("run", "--trace", trace, "--out", self.out)
        self.refuse("trace.json", "run", "--trace", self.folder, "--out", self.out)
        self.refuse("did you mean 'topk'?", *run, "-c", "topkk")
        self.refuse("ratio", *run, "-c", "topk:ratio=2")
        self.refuse("did you mean 'ratio'?", *run, "-c", "topk:ratoi=0.1")
        self.refuse("rate=0", *run, "--link", "rate=0")
        self.refuse("--ranks", *run, "--ranks", "0")
        self.refuse("--threads: found '0'", *run, "--threads", "0")
        self.refuse("did you mean 'ring'?", *run, "--collective", "openmpi|rign")
        self.refuse("ring has no parameter 'group'", *run, "--collective", "ring:group=2")
        self.refuse("unknown SIMD instruction set 'avx9'", *run, "--simd", "avx9")

    def test_folders_that_cannot_take_the_records(self):
        trace = self.trace()
        file = os.path.join(self.folder, "file")
        open(file, "w").close()
        self.refuse("choose another folder", "run", "--trace", trace, "--out", file)
        # Records of another kind are refused before anything is measured.
        other = os.path.join(self.folder, "other")
        self.run_thinpipe("quality", "--trace", trace, "-c", "none", "--out", other)
        self.refuse("it has records of 'quality', not of 'run'", "run", "--trace", trace, "--out",
                    other, "--resume")

    def test_no_mpirun(self):
        self.refuse("mpirun", "run", "--trace", self.trace(), "--out", self.out, code=4,
                    environment={"PATH": "/nonexistent"})

    def test_no_namespaces(self):
        # Inside a user namespace of its own the command is root, but may make none.
        script = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$0" net verify --seconds 0.5'
        result = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", script,
                                 THINPIPE], capture_output=True, text=True)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("user.max_net_namespaces", result.stderr)


if __name__ == "__main__":
    main()
