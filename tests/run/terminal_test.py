"""Output on a terminal of 80 columns: nothing is wider, progress shows the time left, colours come
only where they can be shown and are not refused."""
import concurrent.futures
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from run_case import THINPIPE, RunCase, main

COLUMNS = 80
AT_ONCE = 3  # commands that wait for links; nobody looks at their times
TRACE = "synthetic:model=lenet5,steps=2"
LONG = "sidco:dist=exp,memory=residual,ratio=0.001,stages=3"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
RUN = ("run", "--trace", TRACE, "--ranks", "2", "--link", "rate=100mbit|1gbit", "-c", LONG,
       "--steps", "3", "--warmup", "1")
SHORT = ["rate=1gbit" if word == "rate=100mbit|1gbit" else word for word in RUN]


def has_training():
    return os.path.exists(os.path.join(os.path.dirname(THINPIPE), "thinpipe-train-worker"))


class TerminalTest(RunCase):
    def at_terminal(self, *arguments, codes=(0,), **environment):
        """All that appears on it, escape sequences and all."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        process = subprocess.Popen(
            [THINPIPE, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=self.folder,
            env={**{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
                 "TERM": "xterm", "TMPDIR": self.folder, **environment})
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # everybody closed it
                break
            if not more:
                break
            shown += more
        text = shown.decode()
        self.assertIn(process.wait(), codes, text)
        return text

    def check_width(self, text):
        for line in re.split(r"[\r\n]+", ESCAPE.sub("", text)):
            wide = sum(1 for c in line if not 0x300 <= ord(c) < 0x370)
            self.assertLessEqual(wide, COLUMNS, line)

    def test_everything_fits(self):
        verbs = {
            "run": (*RUN, "--out", "run"),
            "quality": ("quality", "--trace", TRACE, "-c", LONG, "-c", "topk", "--by", "tensor"),
            "bench": ("bench", "-c", LONG, "-c", "topk:memory=none", "--size", "20k",
                      "--repetitions", "1", "--min-time", "0.001", "--warmup", "2"),
            "predict": ("predict", "--trace", TRACE, "--ranks", "4", "--link", "rate=100mbit",
                        "-c", LONG),
            "trace stats": ("trace", "stats", TRACE, "--out", "stats"),
            "net verify": ("net", "verify", "--link", "rate=50mbit", "--quick"),
            "net exec": ("net", "exec", "--link", "rate=50mbit", "echo", "inside"),
            "reproduce": ("reproduce", "--list"),
            "list": ("list",),
            "list compressors": ("list", "compressors"),
            "list links": ("list", "links"),
            "list collectives": ("list", "collectives"),
            "list models": ("list", "models"),
            "doctor": ("doctor",),
            "trace info": ("trace", "info", TRACE),
            "trace verify": ("trace", "verify", TRACE),
            "net show": ("net", "show", "--topology", "racks:racks=2", "--link",
                         "rate=100mbit,delay=10ms,loss=0.1%"),
            "predict in many settings": (
                "predict", "--trace", TRACE, "--ranks", "4|1000", "--link",
                "rate=100mbit|100gbit,delay=10ms", "-c", LONG, "--collective",
                "ring|ps:servers=4,pull=none", "--local-steps", "1|50", "--straggler",
                "host3:compute=2"),
        }
        if has_training():
            verbs["capture"] = ("capture", "--model", "lenet5", "--out", "trace", "--steps", "8",
                                 "--record", "2")
            verbs["train"] = ("train", "-m", "lenet5", "--out", "trained", "-w", "2", "--batch", "4",
                              "--steps", "6", "--eval-every", "3", "--link", "rate=200mbit",
                              "--compute-time", "0.01", "-c", LONG, "--target", "loss=2.4")
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            # On a busy machine `net verify` may have no verdict.
            shown = {name: pool.submit(self.at_terminal, *arguments,
                                       codes=(0, 3) if name == "net verify" else (0,))
                     for name, arguments in verbs.items()}
        for name, text in shown.items():
            with self.subTest(name):
                self.check_width(text.result())
                self.assertTrue(ESCAPE.sub("", text.result()).strip())

    def test_messages_fit(self):
        text = self.at_terminal("run", "--trace", TRACE, "--out", "x", "-c", "topk:ratio=7,memory="
                                + "n" * 90, codes=(2,))
        self.check_width(text)
        self.assertIn("n" * 90, "".join(ESCAPE.sub("", text).split()))  # nothing is lost

    def test_a_list_in_a_message_keeps_its_lines(self):
        broken = os.path.join(os.environ["TEST_PLUGINS"], "broken_methods.so")
        text = self.at_terminal("quality", "--trace", TRACE, "--plugin", broken, "-c", "throws",
                                "-c", "fails", codes=(4,))
        self.check_width(text)
        self.assertRegex(text, r"quality: 2 compressors failed\r\n")

    def test_a_bar_says_how_long_it_will_take_and_colours_come_only_where_they_may(self):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            plain = pool.submit(self.at_terminal, *SHORT, "--out", "plain")
            refused = pool.submit(self.at_terminal, *SHORT, "--out", "refused", NO_COLOR="1")
            dumb = pool.submit(self.at_terminal, *SHORT, "--out", "dumb", TERM="dumb")
            piped = pool.submit(self.run_thinpipe, *SHORT, "--out", self.out)
        self.assertRegex(plain.result(), r"\[#+\.*\] +\d+ % +\d+:\d\d left")
        self.assertRegex(plain.result(), COLOUR)
        self.assertNotRegex(refused.result(), COLOUR)
        self.assertRegex(refused.result(), r" left")
        self.assertNotIn("\x1b", dumb.result())
        self.assertNotIn("\x1b", piped.result())


if __name__ == "__main__":
    main()
