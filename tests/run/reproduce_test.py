"""`thinpipe reproduce` as a whole, on recipes that take seconds: pages, an interruption, a command
that fails, and a quick try that must not be taken for a measurement."""
import json
import os
import re
import time

from run_case import RunCase, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
RECIPES = os.path.join(ROOT, "recipes")


class ReproduceTest(RunCase):
    def reproduce(self, *names, code=0, quick=True):
        return self.run_thinpipe("reproduce", *names, "--out", self.out,
                                 *(["--quick"] if quick else []), code=code)

    def small_table(self, name="sbc-table1", elements="100k"):
        """Returns the path of a recipe like sbc-table1, by default with a tenth of the elements."""
        path = os.path.join(self.folder, name + ".toml")
        with open(os.path.join(RECIPES, "sbc-table1.toml")) as original, open(path, "w") as file:
            file.write(original.read().replace("elements=1m", "elements=" + elements))
        return path

    def path(self, *names):
        return os.path.join(self.out, *names)

    def read(self, *names):
        with open(self.path(*names)) as file:
            return file.read()

    def test_a_page_can_be_read_typed_and_gone_on_with(self):
        said = self.reproduce("sbc-eq5")
        self.assertIn("yes: payloads have the size that the equation gives, p=0.01", said)
        page = self.read("sbc-eq5.md")
        for part in ("## The rules", "8.38", "quick try", "| yes, by arithmetic |", "## Why figures differ"):
            self.assertIn(part, page)
        self.assertIn("[sbc-eq5](sbc-eq5.md)", self.read("README.md"))
        self.assertTrue(json.loads(self.read("sbc-eq5", "outcome.json"))["quick"])
        # A quick try is not taken for a measurement.
        said = self.reproduce("sbc-eq5", code=2, quick=False)
        self.assertIn("holds the records of another command", said)
        # Commands of a page can be typed.
        golomb = self.path("sbc-eq5", "Golomb", "records.jsonl")
        command = re.search(r"^    thinpipe (quality .*)$", page, re.M).group(1)
        os.remove(golomb)
        self.finish(self.start_command("sh", "-c", '"$THINPIPE" ' + command, cwd=self.out))
        # Finished runs are not repeated.
        first = os.stat(golomb).st_mtime_ns
        os.remove(self.path("sbc-eq5", "16-fixed-bits", "finished"))
        os.remove(self.path("sbc-eq5", "16-fixed-bits", "records.jsonl"))
        said = self.reproduce("sbc-eq5")
        self.assertIn("sbc-eq5 2 of 2: 16 fixed bits", said)
        self.assertNotIn("sbc-eq5 1 of 2", said)
        self.assertEqual(os.stat(golomb).st_mtime_ns, first)

    def test_an_interrupted_recipe_goes_on(self):
        # The last recipe would take minutes, so that the signal cannot come too late.
        process = self.start("reproduce", "sbc-eq5", self.small_table(),
                             self.small_table("long", "10m"), "--quick", "--out", self.out)
        while not os.path.exists(self.path("sbc-table1", "payloads", "command")):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        self.assertIn("the same command continues", self.interrupt(process))
        self.assertFalse(os.path.exists(self.path("long.md")))
        said = self.reproduce("sbc-eq5", self.small_table())
        self.assertNotIn("sbc-eq5 1 of 2", said)
        self.assertIn("yes: SBC (3): within 2 % of equation 1", said)
        self.assertIn("[sbc-table1]", self.read("README.md"))

    def test_a_command_that_fails_does_not_end_the_others(self):
        os.makedirs(self.path("sbc-eq5", "Golomb", "records.jsonl", "in-the-way"))
        said = self.reproduce("sbc-eq5", self.small_table(), code=4)
        self.assertIn("yes: SBC (3): within 2 % of equation 1", said)
        page = self.read("sbc-eq5.md")
        self.assertIn("Not complete", page)
        self.assertIn("- Golomb: exit code", page)
        self.assertIn("not measured", page)
        self.assertTrue(os.path.exists(self.path("sbc-eq5", "16-fixed-bits", "finished")))

    def test_a_recipe_of_ones_own_is_a_file(self):
        own = os.path.join(self.folder, "my own.toml")
        text = self.run_thinpipe("reproduce", "--print", "sbc-eq5")
        with open(os.path.join(RECIPES, "sbc-eq5.toml")) as original, open(own, "w") as file:
            self.assertEqual(text, original.read())
            file.write(text.replace("bits of a position in SBC's payloads", "a title"))
        said = self.reproduce(own)
        self.assertIn("yes: payloads have the size that the equation gives, p=0.01", said)
        self.assertIn("# my-own: a title", self.read("my-own.md"))
        self.reproduce(self.small_table())
        self.assertRegex(self.read("README.md"), r"(?s)sbc-table1\.md.*my-own\.md")
        with open(own, "a") as file:
            file.write('[[rules]]\nsays = "more"\nrow = "p=0.2"\nleast = 1\none_side = "why"\n')
        self.assertIn("my own.toml: rules[4].row: no row is called 'p=0.2'",
                      self.reproduce(own, code=2))
        self.assertIn("No such file", self.reproduce(own + ".toml", code=2))


if __name__ == "__main__":
    main()
