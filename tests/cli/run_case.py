#!/usr/bin/env python3
"""Runs one snapshot case: run_case.py BIN CASE.sh

The script runs under bash in an empty folder, with BIN first in PATH. Its standard output, standard
error and exit code are compared with CASE.expected beside it. The folder's and BIN's paths are
written $DIR and $BIN in that file. With THINPIPE_UPDATE_SNAPSHOTS=1 the file is rewritten instead.
A script that prints why and exits with 77 is skipped.
"""
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile


def run(script, binaries, folder):
    environment = {name: os.environ[name] for name in ("HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                                       "TSAN_OPTIONS") if name in os.environ}
    environment |= {"PATH": f"{binaries}:{os.environ.get('PATH', '/usr/bin:/bin')}",
                    "BIN": str(binaries), "ROOT": str(script.parents[3]),
                    "LC_ALL": "C.UTF-8", "TMPDIR": str(folder)}
    return subprocess.run(["bash", "-u", script], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def snapshot(result, binaries, folder):
    text = f"{result.stdout}--- stderr\n{result.stderr}--- exit {result.returncode}\n"
    return text.replace(str(folder), "$DIR").replace(str(binaries), "$BIN")


def main():
    binaries, script = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    expected_file = script.with_suffix(".expected")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        result = run(script, binaries, folder)
        if result.returncode == 77:
            print(result.stdout + result.stderr)
            return 77
        found = snapshot(result, binaries, folder)
    if os.environ.get("THINPIPE_UPDATE_SNAPSHOTS") == "1":
        expected_file.write_text(found, encoding="utf-8")
        return 0
    expected = expected_file.read_text(encoding="utf-8") if expected_file.exists() else ""
    if found == expected:
        return 0
    sys.stdout.writelines(difflib.unified_diff(
        expected.splitlines(keepends=True), found.splitlines(keepends=True),
        str(expected_file), "found"))
    return 1


if __name__ == "__main__":
    sys.exit(main())
