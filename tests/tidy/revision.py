#!/usr/bin/env python3
"""Numbers the texts of sql/functions and sql/views, so that `inboxd migrate` tells which of two builds is newer.

usage: revision.py ROOT        says whether sql/revision is stale; with UPDATE_GENERATED=1 it writes the next number
"""
import hashlib
import os
import pathlib
import re
import sys

FILE = "sql/revision"
HEAD = "# Number and digest of functions/ and views/, by tests/tidy/revision.py\n"


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 64
    root = pathlib.Path(arguments[0])
    digest = hashlib.sha256()
    for folder in ("functions", "views"):
        for path in sorted((root / "sql" / folder).glob("*.sql")):
            digest.update(path.read_bytes())
    path = root / FILE
    text = path.read_text() if path.exists() else ""
    rows = re.findall(r"^(\d+) (\w+)$", text, re.M)  # several after a merge with a conflict
    if len(rows) == 1 and rows[0][1] == digest.hexdigest():
        return 0
    if "UPDATE_GENERATED" in os.environ:
        number = 1 + max((int(number) for number, _ in rows), default=0)
        path.write_text(f"{HEAD}{number} {digest.hexdigest()}\n")
        return 0
    print(f"{FILE} is stale; run UPDATE_GENERATED=1 python3 tests/tidy/revision.py .")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
