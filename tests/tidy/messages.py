#!/usr/bin/env python3
"""Writes config/messages.md, the list of log messages, from the table in src/base/log_messages_*.hpp.

usage: messages.py ROOT        says whether the list is stale; with UPDATE_GENERATED=1 it writes the list
"""
import os
import pathlib
import sys
import textwrap
import uuid

import tidy

NAME_SPACE = uuid.UUID("535f0b0e-9d3b-4e0c-8a2f-614cd5207e19")  # as in src/base/logger.cpp
LEVELS = ["error", "warn", "info", "debug", "any"]
LIST = "config/messages.md"
INTRODUCTION = """\
Each kind of log line has a fixed phrase, followed by facts and by `kind=`, its stable name. The phrase may change
between versions, the kind does not: search for the kind. In JSON it is the field `kind`. Where `log.format` is journal,
`journalctl KIND=…` or `journalctl MESSAGE_ID=…` finds the lines, and each fact is a field, too. The metric
`inboxd_log_lines_total` counts lines by level and kind; alert `InboxdErrors` fires on those at level error.
Levels: error needs an operator, warn is retried or limited, info is worth knowing daily, debug explains. This file is
made by tests/tidy/messages.py."""


def document(rows):
    def key(row):
        return LEVELS.index(row[1]), row[0]
    # A plugin chooses the level of its lines.
    rows = [(slug, "any" if slug.startswith("handler.") else level, *rest) for slug, level, *rest in rows]
    lines = "".join(f"| {level} | `{slug}` | {text} | {' '.join(filter(None, [meaning, remedy]))} | "
                    f"`{uuid.uuid5(NAME_SPACE, slug).hex}` |\n" for slug, level, text, meaning, remedy in
                    sorted(rows, key=key))
    return ("# Messages\n\n" + textwrap.fill(INTRODUCTION, 120, break_on_hyphens=False) +
            "\n\n| level | kind | phrase | meaning and remedy | MESSAGE_ID |\n|---|---|---|---|---|\n" + lines)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 64
    root = pathlib.Path(arguments[0])
    path = root / LIST
    text = document(tidy.log_table(root))
    if "UPDATE_GENERATED" in os.environ:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        print(f"{LIST} is stale; run UPDATE_GENERATED=1 python3 tests/tidy/messages.py .")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
