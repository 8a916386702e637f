#!/usr/bin/env python3
"""docs_test.py ROOT: the code that docs/plugins.md shows is that of examples/plugins, which is
compiled and tested, and both examples are below the 60 lines that it promises."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
page = (root / "docs/plugins.md").read_text(encoding="utf-8")
errors = []
for language, name in (("c", "sign.c"), ("cpp", "stride.cc")):
    source = (root / "examples/plugins" / name).read_text(encoding="utf-8")
    if source.count("\n") >= 60:
        errors.append(f"{name} has {source.count(chr(10))} lines; expected fewer than 60")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    if not blocks:
        errors.append(f"docs/plugins.md shows nothing of {name}")
    errors += [f"docs/plugins.md shows what is not in {name}:\n{block}"
               for block in blocks if block not in source]
sys.exit("\n".join(errors) or 0)
