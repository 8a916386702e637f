#!/usr/bin/env python3
"""Writes the table of reproduce.md: every rule of the recipes' pages, with its result and the cause of a miss.

reproduce_table.py [--check]

The table comes from the pages in reproduce/. --check writes nothing, and fails if the table is out of date or if a
rule that does not hold has no cause in CAUSES, or a cause has no section in reproduce.md.
"""
import argparse
import collections
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE / "reproduce.md"
BEGIN, END = "<!-- table: reproduce_table.py -->\n", "<!-- end of the table -->\n"

PAPERS = [
    ("SBC (Sattler et al.)", ["sbc-table1", "sbc-eq5", "sbc-fig3", "sbc-table2"]),
    ("3LC (Lim et al.)", ["3lc-table2", "3lc-accuracy", "3lc-fig4", "3lc-server", "3lc-long", "3lc-fig9", "3lc-table1"]),
    ("SIDCo (Abdelmoniem et al.)", ["sidco-fig1", "sidco-fig16", "sidco-fig2", "sidco-fig7", "sidco-fig9",
                                    "sidco-fig3", "sidco-fig5"]),
    ("Variance-based compression (Tsuzuku et al.)", ["variance-table1", "variance-table2", "variance-speedup"]),
    ("DGC (Lin et al.)", ["dgc-table2", "dgc-fig3", "dgc-table3", "dgc-fig6"]),
    ("Error feedback and later methods", ["error-feedback", "ef-momentum", "modern", "utility"]),
]

# (recipe, a regular expression for the finding, the section with the cause), the first match counts.
CAUSES = [
    ("sbc-fig3|3lc-accuracy|3lc-table2", "", "Few seeds"),
    ("sbc-table2", "CharLSTM.*learns", "A short training of SBC's LSTM"),
    ("sbc-table2", r"SBC \(3\)", "SBC (3) exchanges a few times"),
    ("sbc-table2", "", "Few seeds"),
    ("3lc-fig4", "", "Few seeds"),
    ("3lc-server", "learns as without compression, momentum 0.9", "Few seeds"),
    ("3lc-server", "learns as without compression", "3LC needs the server of its paper"),
    ("3lc-server", "", "Few seeds"),
    ("3lc-fig9", "", "Pushes and pulls of 3LC"),
    ("3lc-table1", "", "Speed-ups of 3LC's table 1"),
    ("sidco-fig1|sidco-fig9", "meets k|20 % of k|close to k", "SIDCo misses k"),
    ("sidco-fig9", "RedSync.*farther off", "Few seeds"),
    ("sidco-fig9", "farther off", "GaussianK against SIDCo-E"),
    ("sidco-fig1|sidco-fig16", "", "Threshold estimation on a CPU"),
    ("sidco-fig2|sidco-fig7", "", "Distributions of small trainings"),
    ("sidco-fig3", "there before Top-k|target before Top-k", "Threshold estimation on a CPU"),
    ("sidco-fig3|sidco-fig5", "", "Short trainings of SIDCo's recipes"),
    ("variance-speedup", "", "Points that do not count"),
    ("dgc-table2|dgc-fig3", "", "Short trainings of DGC"),
    ("dgc-table3", "", "Encoding of DGC's table 3"),
    ("dgc-fig6", "", "DGC's codec on one core"),
    ("ef-momentum", "", "Momentum after error feedback"),
    ("utility", "", "Batch size decides whether compression pays"),
    ("modern", "PowerSGD", "PowerSGD starts at random"),
    ("modern", "", "DeMo and SparseLoCo in 200 steps"),
]
HOLDS = ("yes", "looks so", "yes, by arithmetic")


def rules_of(recipe):
    """Returns (finding, measured, result) of each rule of a recipe's page."""
    rules, inside = [], False
    page = HERE / "reproduce" / f"{recipe}.md"
    if not page.exists():  # not run in full yet
        return []
    for line in page.read_text().splitlines():
        if line.startswith("| finding | rule |"):
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not line.startswith("| ---"):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            rules.append((cells[0].strip("| "), cells[-2], cells[-1].strip("| ")))
    return rules


def anchor(title):
    return "#" + re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def match(causes, recipe, finding):
    for recipes, pattern, title in causes:
        if recipe in recipes.split("|") and re.search(pattern, finding):
            return title
    return None


def table():
    """Returns the table, and the findings that lack a cause."""
    lines, missing, counts = [], [], collections.Counter()
    for paper, recipes in PAPERS:
        lines += [f"### {paper}", "", "| recipe | finding | measured | holds here | cause |", "|---|---|---|---|---|"]
        for recipe in recipes:
            for finding, measured, result in rules_of(recipe):
                counts[result] += 1
                cause = ""
                if result not in HOLDS:
                    title = match(CAUSES, recipe, finding)
                    cause = f"[{title}]({anchor(title)})" if title else ""
                    missing += [] if title else [f"{recipe}: {finding}"]
                lines.append(f"| [`{recipe}`](reproduce/{recipe}.md) | {finding} | {measured.replace('+-', '± ')} "
                             f"| {result} | {cause} |")
        lines.append("")
    total = sum(counts.values())
    summary = ", ".join(f"{count} *{result}*" for result, count in counts.most_common())
    summary = textwrap.fill(f"Of {total} rules: {summary}.", 120, break_on_hyphens=False)
    return summary + "\n\n" + "\n".join(lines), missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the table is out of date")
    arguments = parser.parse_args()
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    made, missing = table()
    new = before + BEGIN + made + END + after
    faults = [f"no cause in CAUSES: {finding}" for finding in missing]
    faults += [f"no section in reproduce.md: {title}" for title in {cause[2] for cause in CAUSES}
               if f"\n### {title}\n" not in text]
    listed = {recipe for _, recipes in PAPERS for recipe in recipes}
    faults += [f"no row for {page.stem}" for page in (HERE / "reproduce").glob("*.md") if page.stem not in listed]
    if arguments.check and new != text:
        faults.append("the table is out of date: run docs/results/reproduce_table.py")
    if not arguments.check:
        PAGE.write_text(new)
    print("\n".join(faults) if faults else "every rule has its row, and every miss a cause")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
