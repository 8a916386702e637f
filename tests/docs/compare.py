"""Compares a command's output with a page's. Figures are masked, words are not.

Masked are separate numbers, with the unit behind them, and runs of spaces: a busy
machine measures something else. A number within a word (`host0`, `rate=100mbit`, `topk:ratio=0.01`)
is a setting, no measurement, and stays. A line of `...` or `[...]` stands for any lines, `[...]`,
`(...)` or `…` within a line for any words.
"""
import difflib
import re

NUMBER = re.compile(r"""(?<![\w=:/.'"-])                          # not within a word or a setting
                        [-+]?(?:\d{4}-\d\d-\d\dT[\d:]+Z|          # a moment
                        \d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)
                        (?:\s?(?:%|(?:[numkMGTµ]|[KMG]i)?(?:s|B|bit|bit/s|bits/sec|Bytes)\b|min\b))*
                        (?![\w=]*=)(?!\w)""", re.VERBOSE)
DASH = re.compile(r"(?<=\s)-(?=\s|$)")
# Matches the output line of a measured point. The comparison of texts ignores whether the machine
# was too busy to trust the point.
MEASURED = re.compile(r"^(?:ok|invalid) +(.*?: .*? a step)(?:[;,].*)?$")
VERDICT = re.compile(r": (?:passed(?:, within .*)?|FAILED.*)$")
# The first line of a benchmark: the CPU's own name, which no source has.
PROCESSOR = re.compile(r"^.*(?=; \d+ cores?, )")
# Messages of thinpipe about a busy machine, on any line.
BUSY = re.compile(r"^(?:another run is being measured on this machine|.* load|busy)\b.*")
ELISION = re.compile(r"\[\.\.\.\]|\(\.\.\.\)|…|(?<=\s)\.\.\.(?=\s|$)")
FIGURE = "#"


def masked(line, exact=False):
    """The line as it is compared."""
    line = line.rstrip()
    if exact:
        return line
    point = MEASURED.match(line)
    if point:
        line = "measured " + point[1]
    line = VERDICT.sub(": verdict", line)
    line = DASH.sub(FIGURE, NUMBER.sub(FIGURE, line))
    return re.sub(r"\s+", " ", line).strip()


def unwrapped(lines):
    """Joins sentences that continue in the next line; tables and indented lines stay."""
    joined = []
    for line in lines:
        goes_on = [bool(one.strip()) and not one.startswith(" ") and "  " not in one.strip()
                   for one in (joined[-1] if joined else "", line)]
        if all(goes_on):
            joined[-1] += " " + line.strip()
        else:
            joined.append(line.rstrip())
    return joined


def is_elision(line):
    return line.strip() in ("...", "[...]", "…")


def same_line(shown, printed):
    """Whether the masked lines are the same; `[...]` in the shown one is any text."""
    if not ELISION.search(shown):
        return shown == printed
    return re.fullmatch(".*".join(map(re.escape, ELISION.split(shown))), printed) is not None


def complaint(shown, printed, exact=False, any_order=False):
    """How the shown lines differ from the printed ones, as a diff; '' where they do not."""
    want = [line if is_elision(line) else masked(line, exact) for line in shown]
    have = [masked(line, exact) for line in printed if exact or not BUSY.match(line)]
    if not exact:
        want, have = [line for line in want if line], [line for line in have if line]
    if any_order:
        some = any(map(is_elision, want))  # then the output may have more lines than are shown
        want, have = sorted(line for line in want if not is_elision(line)), sorted(have)
        if some:
            have = [line for line in have if line in want]
    if matches(want, have):
        return ""
    return "\n".join(difflib.unified_diff(want, have, "shown", "printed", lineterm="", n=1))


def matches(want, have):
    """Whether lines with elisions among them are those that were printed."""
    # reached[i]: want[:i] can stand for the lines so far
    reached = [True] + [False] * len(want)
    for index, line in enumerate(want):
        reached[index + 1] = reached[index] and is_elision(line)
    for printed in have:
        after = [False] * (len(want) + 1)
        for index, line in enumerate(want):
            if is_elision(line):
                after[index + 1] = after[index] or reached[index] or reached[index + 1]
            else:
                after[index + 1] = reached[index] and same_line(line, printed)
        reached = after
    return reached[-1]


def words(lines):
    """The words of lines, without figures, settings and the name of the machine's CPU."""
    lines = [PROCESSOR.sub("", line) for line in lines]
    return set(re.findall(r"(?<![\w=:/.-])[A-Za-z]{4,}(?![\w=:/])", "\n".join(lines)))
