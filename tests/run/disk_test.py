"""A disk that is full in the middle of a sweep: whole records, and --resume once it has space."""
import os
import shutil

from run_case import THINPIPE, RunCase, main

# Simulates a disk with four pages left: the header and a few points fit, however long their records
# are. The mount needs a mount namespace of its own and disappears with it, so the records are
# copied out of the namespace.
SCRIPT = """
out=$1 copies=$2; shift 2
mount -t tmpfs -o size=1m full "$out" || exit 99
head -c $((1048576 - 16384)) /dev/zero > "$out/ballast" || exit 99
"$@"; code=$?
cp "$out/records.jsonl" "$copies/full.jsonl"
rm "$out/ballast"
"$@" --resume || exit 98
cp "$out/records.jsonl" "$copies/resumed.jsonl"
exit $code
"""


class DiskTest(RunCase):
    def test_a_full_disk_leaves_whole_records_and_resume_goes_on_with_room(self):
        os.mkdir(self.out)
        command = (THINPIPE, *self.sweep(link="rate=500mbit", repeats=8, steps=3))
        error = self.finish(self.start_command("unshare", "--user", "--map-root-user", "--mount",
                                               "sh", "-c", SCRIPT, "sh", self.out, self.folder,
                                               *command), 4)
        self.assertIn("records.jsonl (it ends at its last whole record): No space left on device",
                      error)
        self.assert_nothing_left()
        counts = []
        for name in ("full.jsonl", "resumed.jsonl"):
            shutil.copy(os.path.join(self.folder, name), os.path.join(self.out, "records.jsonl"))
            counts.append(len(self.points()))  # each line is JSON
        self.assertGreaterEqual(counts[0], 1)
        self.assertLess(counts[0], 16)
        self.assertEqual(counts[1], 16)  # 2 compressors, 8 repeats


if __name__ == "__main__":
    main()
