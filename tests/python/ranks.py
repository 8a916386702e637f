"""Shared by tests with PyTorch: torch, or a skip; a folder; ranks as forked processes."""
import atexit
import os
import shutil
import sys
import tempfile
import traceback
import unittest

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # with a GPU, torch allows no backward pass before a fork
try:
    import torch
except ImportError:
    print(f"skipped: {sys.executable} has no torch (Debian: python3-torch)")
    sys.exit(77)  # ctest's code for skipped
import torch.distributed as dist

torch.set_num_threads(1)  # one order of summation; and processes may be forked


class RanksTestCase(unittest.TestCase):
    """A test with a folder that is gone afterwards."""

    runs_exit_functions = False  # whether ranks end as a script does

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="thinpipe-test-")

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def codes_of(self, count, function):
        """Runs function(rank) in processes joined by gloo, and returns their exit codes, negative
        for those that were killed."""
        store = os.path.join(self.folder, "store")
        if os.path.exists(store):
            os.unlink(store)
        children = []
        for rank in range(count):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    with open(os.path.join(self.folder, f"errors-{rank}"), "w") as errors:
                        os.dup2(errors.fileno(), 2)
                    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank,
                                            world_size=count)
                    function(rank)
                    code = 0
                except BaseException:  # also a failed assertion: the parent sees the exit code
                    traceback.print_exc()
                if self.runs_exit_functions:
                    atexit._run_exitfuncs()
                sys.stderr.flush()
                os._exit(code)
            children.append(child)
        return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

    def run_ranks(self, count, function, expected=0):
        codes = self.codes_of(count, function)
        self.assertEqual(codes, count * [expected] if isinstance(expected, int) else expected,
                         "".join(self.errors_of(rank) for rank in range(count)))

    def errors_of(self, rank):
        with open(os.path.join(self.folder, f"errors-{rank}")) as file:
            return file.read()
