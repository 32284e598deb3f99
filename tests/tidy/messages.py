#!/usr/bin/env python3
"""The kinds of log lines, found in the sources: config/messages.md lists all, src/daemon/error_kinds.cpp the errors.

usage: messages.py ROOT        says what is stale or not found; with UPDATE_GENERATED=1 it writes them
"""
import os
import pathlib
import re
import sys
import textwrap
import uuid

import tidy

NAME_SPACE = uuid.UUID("535f0b0e-9d3b-4e0c-8a2f-614cd5207e19")  # as in src/base/log.cpp
LEVELS = ["error", "warn", "info", "debug"]
PLUGINS = "as it says"  # the level of what a plugin says
# Called with a sentence that is a constant: what is logged by it, and at which level.
PASSED_ON = re.compile(rf"\bcomplain\(({tidy.LITERALS})")
# `part_ + ": …"`: whose part it may be.
PART = re.compile(r'\b(?:trouble_|keeping|taking)\{\s*"(\w+)"')
REMARK = re.compile(rf'\.write\((?:level_of\(level\)|remark\.level),[^;]*?({tidy.LITERALS})\);')
PREFIX = re.compile(r"(\w+): .")


def literals(text):
    for found in re.finditer(tidy.LITERALS, text):
        yield "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', found.group()))


def texts_of(root):
    return {path: path.read_text() for path in tidy.sources(root) if tidy.room_of(root, path) is not None}


def kinds(root):
    texts = texts_of(root)
    parts = sorted({part for text in texts.values() for part in PART.findall(text)})
    for path, text in texts.items():
        for call in tidy.LOG_CALL.finditer(text):
            found = tidy.SENTENCE.match(text[call.end():])
            if not found:
                continue
            levels = [call[1]] if call[1] != "write" else re.findall(r"LogLevel::(\w+)", found.group())
            for sentence in literals(found.group()):
                of_parts = [part + sentence for part in parts] if "part_ +" in found.group() else [sentence]
                yield from ((level, one) for level in levels for one in of_parts)
        yield from (("warn", one) for call in PASSED_ON.findall(text) for one in literals(call))
        yield from ((PLUGINS, one) for call in REMARK.findall(text) for one in literals(call))


def missed(root, found):
    """What begins as a log line does and is none of those found: it is logged by a call that is not known here."""
    sentences = {sentence for _, sentence in found}
    prefixes = {sentence.split(":")[0] for sentence in sentences}
    for path, text in texts_of(root).items():
        for literal in literals(text):
            prefix = PREFIX.match(literal)
            if prefix and prefix[1] in prefixes and literal not in sentences:
                yield (f"{path.relative_to(root)}: `{literal}` is not found as a log line: teach tests/tidy/tidy.py "
                       "the form of its call, or let what is none begin otherwise")


def document(found):
    rows = "".join(f"| {level} | {sentence.replace('|', chr(92) + '|')} | `{uuid.uuid5(NAME_SPACE, sentence).hex}` |\n"
                   for level, sentence in found)
    words = ("Each kind of log line is a sentence, followed by facts, and has an id made of the sentence, the same in "
             "every version that has the sentence: `journalctl MESSAGE_ID=…` finds its lines where `log.format` is "
             "journal, `inboxd_log_lines_total` counts those that are written under `kind`. At level error stands what "
             "somebody must look at (alert `InboxdErrors`), at warn what was tried again, at info what one wants to "
             "know daily. Made from the sources by tests/tidy/messages.py.")
    return ("# Messages\n\n" + textwrap.fill(words, 120, break_on_hyphens=False) +
            "\n\n| level | sentence | MESSAGE_ID |\n|---|---|---|\n" + rows)


def source(found):
    errors = [sentence for level, sentence in found if level in {"error", PLUGINS}]
    lines = "".join("    " + "\n    ".join(f'"{piece}"' for piece in pieces(sentence)) + ",\n" for sentence in errors)
    return ("// Made from the sources by tests/tidy/messages.py.\n#include \"daemon/error_kinds.hpp\"\n\n"
            "namespace inboxd::daemon {\n\n// clang-format off\nconst std::vector<std::string_view>& error_kinds() {\n"
            "  static const std::vector<std::string_view> kinds{\n" + lines +
            "  };\n  return kinds;\n}\n// clang-format on\n\n}  // namespace inboxd::daemon\n")


def pieces(sentence):
    return textwrap.wrap(sentence, 100, drop_whitespace=False, break_on_hyphens=False)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__.strip(), file=sys.stderr)
        return 64
    root = pathlib.Path(arguments[0])
    order = LEVELS + [PLUGINS]
    found = sorted(set(kinds(root)), key=lambda kind: (order.index(kind[0]), kind[1]))
    complaints = list(missed(root, found))
    for name, text in [("config/messages.md", document(found)), ("src/daemon/error_kinds.cpp", source(found))]:
        path = root / name
        if "UPDATE_GENERATED" in os.environ:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            complaints.append(f"{name} is stale; run UPDATE_GENERATED=1 python3 tests/tidy/messages.py .")
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
