#!/usr/bin/env python3
"""Fills the third column of tests/faults.md, the catalogue of faults: the tests that show the expected behaviour.

usage: faults.py ROOT          says whether the column is stale; with UPDATE_GENERATED=1 it writes the column

A comment directly above a test names a fault that it shows: `// fault: killed before the database commit`. In Python it
begins with `# fault:`. The name is the first column of a row; if that has several faults, the part between semicolons.
"""
import collections
import difflib
import os
import pathlib
import re
import sys

TABLE = "tests/faults.md"
ROW = re.compile(r"^\| (?!case \|)([^|]+) \| ([^|]+) \| *([^|]*?) *\|$")
FAULT = re.compile(r"^ *(?://|#) fault: (.+)$")
TITLE = re.compile(r'[^"\n]*\n?[^"\n]*?((?:"(?:\\.|[^"\\\n])*"\s*)+)')  # the first literal of the next two lines
MISSING = re.compile(r"none yet: .+$")


def tests_of(root):
    """The tests below their comments, as (fault, test, place). Without a test the second is empty."""
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix not in {".cpp", ".py"} or path.parent.name == "tidy":
            continue
        name, lines, faults = path.relative_to(root / "tests"), path.read_text().splitlines(), []
        for number, line in enumerate(lines, 1):
            found = FAULT.match(line)
            if found:
                faults.append((found[1], f"tests/{name}:{number}"))
            elif faults:
                title = TITLE.match("\n".join(lines[number - 1:number + 3]))
                text = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', title[1])) if title else ""
                text = re.sub(r"\\(.)", r"\1", text).replace("`", "'")
                yield from ((fault, f"`{'/'.join(name.parts[:-1][:2])}: {text}`" if text else "", place)
                            for fault, place in faults)
                faults = []


def check(root):
    """Returns the table with its column filled, and the complaints."""
    tests, complaints, named = collections.defaultdict(list), [], {}
    for fault, test, place in tests_of(root):
        if test:
            tests[fault].append(test)
            named.setdefault(fault, place)
        else:
            complaints.append(f"{place}: no test follows: write the comment directly above a test")
    lines, known = [], set()
    for number, line in enumerate((root / TABLE).read_text().splitlines(), 1):
        row = ROW.match(line)
        if row and not line.startswith("|---"):
            where, missing = f"{TABLE}:{number}", MISSING.search(row[3])
            faults = row[1].split("; ")
            complaints += [f'{where}: "{fault}" has another row: rename one' for fault in faults if fault in known]
            known.update(faults)
            untested = [fault for fault in faults if not tests[fault]]
            if missing and not untested:
                complaints.append(f"{where}: all faults of the row have tests: remove `{missing[0]}`")
            if not missing:
                complaints += [f'{where}: no test shows "{fault}": write `// fault: {fault}` above a test that does'
                               for fault in untested]
            shown = list(dict.fromkeys(test for fault in faults for test in tests[fault]))
            line = f"| {row[1]} | {row[2]} | {'<br>'.join(shown + ([missing[0]] if missing else []))} |"
        lines.append(line + "\n")
    for fault in sorted(named.keys() - known):
        nearest = "".join(f"; did you mean {name}?" for name in difflib.get_close_matches(fault, known, 1))
        complaints.append(f'{named[fault]}: no row of {TABLE} has the fault "{fault}"{nearest}')
    return "".join(lines), complaints


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 64
    root = pathlib.Path(arguments[0])
    text, complaints = check(root)
    if "UPDATE_GENERATED" in os.environ:
        (root / TABLE).write_text(text)
    elif (root / TABLE).read_text() != text:
        complaints.append(f"{TABLE} is stale; run UPDATE_GENERATED=1 python3 tests/tidy/faults.py .")
    print(*complaints, f"rows with a fault that has no test yet: {text.count('none yet: ')}", sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
