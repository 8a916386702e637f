"""Shared by the tests of records: a folder for each test, and programs that run in it."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

THINPIPE = os.environ["THINPIPE"]
ROOT = pathlib.Path(os.environ["ROOT"])
TIME_LIMIT = int(os.environ["TIME_LIMIT"])  # s
TRACE = "synthetic:model=lenet5,workers=2,steps=4"


class RecordsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="records_test_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_in_folder(self, *words, expect=0, environment=None, **options):
        result = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False,
                                timeout=TIME_LIMIT, cwd=self.folder,
                                env={**os.environ, **(environment or {})}, **options)
        self.assertEqual(result.returncode, expect, result.stderr[-2000:])
        return result

    def thinpipe(self, *words, **options):
        return self.run_in_folder(THINPIPE, *words, **options)

    def records(self, folder, file="records.jsonl"):
        return [json.loads(line) for line in (self.folder / folder / file).read_text().splitlines()]
