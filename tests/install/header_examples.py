#!/usr/bin/env python3
"""The examples with which installed headers begin, as one file to compile.

header_examples.py FOLDER OUTPUT HEADER...: of each HEADER of FOLDER, writes what stands below
"// Example:" before its first line of code. Fails where a header has none. A plain C header has its
example in its first comment; one without is included alone (examples/plugins/ holds its examples).
"""
import pathlib
import re
import sys

EXAMPLE = re.compile(r"^// Example:\n//\n((?://(?:   .*)?\n)+)", re.MULTILINE)
C_EXAMPLE = re.compile(r"^   Example:\n\n((?:     .*\n)+)", re.MULTILINE)


def example_of(text):
    """@returns the code, or None"""
    found = EXAMPLE.search(text.partition("#pragma once")[0])
    return found and re.sub("^//(?:   )?", "", found[1], flags=re.MULTILINE)


def main(folder, output, *headers):
    includes, examples = ["#include <cstdio>"], []
    for header in headers:
        text = (pathlib.Path(folder) / header).read_text(encoding="utf-8")
        includes.append(f'#include "{header}"')
        if "#pragma once" not in text:
            if (found := C_EXAMPLE.search(text)):
                examples.append(f"// {header}\n{found[1]}")
            continue
        if (example := example_of(text)) is None:
            print(f"{header} does not begin with an example")
            return 1
        examples.append(f"// {header}\n{example}")
    pathlib.Path(output).write_text("\n".join([*includes, "", *examples]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
