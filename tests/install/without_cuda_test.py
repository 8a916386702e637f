#!/usr/bin/env python3
"""Without a CUDA Toolkit, configuring goes on, reports that, and plans the library that refuses
GPUs; if CUDA was requested, configuring fails. Nothing is built.

Usage: without_cuda_test.py SOURCE WORK GENERATOR COMPILER. Toolkits of this machine are hidden in a
mount namespace of its own, by empty folders over them; skipped where there may be none."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

SOURCE, WORK, GENERATOR, COMPILER = sys.argv[1:5]
WORK = pathlib.Path(WORK)
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


def compilers():
    """Every nvcc where CMake looks: PATH, CUDACXX, CUDA_PATH and /usr/local. PATH may have folders
    that this user may not read."""
    programs = [pathlib.Path(folder) / "nvcc" for folder in os.get_exec_path()]
    programs += [pathlib.Path(os.environ[name]) for name in ("CUDACXX",) if os.environ.get(name)]
    programs += [pathlib.Path(os.environ[name]) / "bin/nvcc" for name in ("CUDA_PATH", "CUDA_HOME")
                 if os.environ.get(name)]
    programs += pathlib.Path("/usr/local").glob("cuda*/bin/nvcc")
    return {path for program in programs if os.path.exists(program)
            for path in (program, program.resolve())}


def hidden():
    """Paths to hide: toolkits; only the program itself if nvcc lies among other programs, as a
    stand-in for a toolkit's nvcc may."""
    folders = {program.parent.parent.resolve() for program in compilers()}
    toolkits = {folder for folder in folders if str(folder) not in ("/usr", "/usr/local")}
    alone = {program.resolve() for program in compilers()
             if not any(folder in program.resolve().parents for folder in toolkits)}
    return sorted(toolkits), sorted(alone)


class WithoutCuda(unittest.TestCase):
    def configure(self, *options):
        shutil.rmtree(WORK, ignore_errors=True)
        empty = WORK / "empty"
        empty.mkdir(parents=True)
        (WORK / "nothing").touch()
        toolkits, alone = hidden()
        hide = "".join([*(f"mount --bind '{WORK}/nothing' '{program}' && " for program in alone),
                        *(f"mount --bind '{empty}' '{folder}' && " for folder in toolkits)])
        # All that takes long to look for is left out.
        command = ["sh", "-c", hide + 'exec "$@"', "sh", "cmake", "-S", SOURCE, "-B", WORK / "build",
                   "-G", GENERATOR, f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_BUILD_TYPE=Release",
                   "-DTHINPIPE_TRAINING=OFF", "-DTHINPIPE_UNITY=OFF",
                   *options]
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("CUDACXX", "CUDA_PATH", "CUDA_HOME")}
        return subprocess.run([*NAMESPACE, *command], capture_output=True, text=True, check=False,
                              env=environment)

    def test_goes_on_without(self):
        result = self.configure()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("CUDA Toolkit OFF", result.stdout)
        plan = (WORK / "build/compile_commands.json").read_text()
        self.assertIn("compressors/cuda/no_gpu.cc", plan)
        self.assertNotIn("thinpipe_cuda.dir/gpu.cu", plan)

    def test_is_an_error_where_it_was_asked_for(self):
        result = self.configure("-DTHINPIPE_CUDA=ON")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no CUDA Toolkit was found", result.stderr)


if __name__ == "__main__":
    if shutil.which("unshare") is None or subprocess.run([*NAMESPACE, "true"], check=False,
                                                         capture_output=True).returncode != 0:
        print("skipped: no namespaces of its own here")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
