#!/usr/bin/env python3
"""Measures comments and documents: long sentences, phrases to avoid, too many questions where a noun should be.

usage: prose.py ROOT [FILE...]        FILE: relative to ROOT; all files by default
"""
import bisect
import collections
import math
import pathlib
import re
import sys

SENTENCE_LIMIT = 30  # words
DOCUMENT_MINIMUM = 300  # words; shorter documents are not read
ALLOWED = 3  # of QUESTION in 1,000 words of a room or a document; ninja has 0.6, libpqxx 1.4
WORST_LINES = 10
GENERATED = {"config/README.md", "config/inboxd.minimal.yaml", "config/inboxd.yaml", "config/messages.md",
             "config/metrics.md"}
QUESTION = re.compile(r"\b(?:what|whatever|who|whoever|whose|whom)\b", re.I)
PHRASES = {  # and the words to use instead
    r"anew": "again",
    r"thus": "so",
    r"dear": "expensive",
    r"owed|owes?|owing|outstanding": "pending, to be delivered",
    r"in hand": "in flight",
    r"go(?:es|ing)? on(?! the\b)|went on": "continue",
    r"st[ao]n?[od]d?(?:s|ing)? still": "stalled, makes no progress",
    r"(?:is|are) silent": "does not answer, is stalled",
    r"nobody|somebody": "the role: operator, producer, another instance, no process",
    r"unclean ends?|dies": "crash, unclean exit",
    r"in vain": "without success, retry budget",
    r"troubles?": "failure, problem",
    r"give[ns]? back|gave back|giving back": "release, return",
    r"take[ns]? up|took up|taking up": "claim, take over",
    r"set back": "rolled back, lost commits",
    r"signs? of life": "heartbeat",
    r"whose doing": "the cause, the culprit",
    r"crew": "worker pool",
    r"bury|buried|buries": "dead-letter",
    r"(?<!dead[ -])(?<!case )(?<!rarest )(?<!swapped )letters?(?!,| case)": "message, dead letter",
}
FINDERS = [(re.compile(rf"\b(?:{phrase})\b", re.I), instead) for phrase, instead in PHRASES.items()]

BLOCK = r"(?P<block>/\*.*?\*/)"
C = re.compile(rf"""R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|(?P<line>//[^\n]*)|{BLOCK}""", re.S)
SQL = re.compile(rf"'(?:[^']|'')*'|(?P<line>--[^\n]*)|{BLOCK}", re.S)
HASH = re.compile(r'(?:(?<=\s)|\A)(?P<line>#(?!!)[^\n]*)|(?P<block>^\s*"""[^"]*""")', re.S | re.M)
COMMENTS = {suffix: pattern for suffixes, pattern in [
    ((".cpp", ".hpp", ".h", ".c", ".js"), C), ((".sql",), SQL),
    ((".py", ".txt", ".cmake", ".yaml", ".service", ".conf", ".default", ""), HASH)] for suffix in suffixes}
MARKER = re.compile(r'^\s*(?://[/!]?<?|/\*+|\*/|\*(?=\s|$)|--+|#+|""")?')
FENCE, CODE = re.compile(r"^ *```.*?^ *```", re.S | re.M), re.compile(r"`[^`]*`")
NO_WORDS = re.compile(r"\]\([^)]*\)|\bhttps?://\S+|\*/$|\"\"\"$")
ITEM = re.compile(r"^\s*(?:[*+-]|\d+\.)\s+")
SENTENCE = re.compile(r"\S.*?(?:[.!?:;](?=[\s)\"'*]|$)|$)")


def comment_lines(text, pattern):
    """The lines of all comments, as (number, column, words). A comment behind code begins with an empty line."""
    starts = [0] + [found.end() for found in re.finditer("\n", text)]
    for found in pattern.finditer(text):
        comment = found["line"] or found["block"]
        if comment is None:
            continue
        number = bisect.bisect(starts, found.start())
        column = found.start() - starts[number - 1]
        if text[starts[number - 1]:found.start()].strip():
            yield number, column, ""
        for more, line in enumerate(comment.split("\n")):
            yield number + more, column, line[MARKER.match(line).end():]


def document_lines(text):
    text = FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("|"):
            yield from ((number, cell, cell) for cell in CODE.sub("", line).strip("| ").split("|"))
        else:
            yield number, 0, re.sub(r"^#+ ", "", line.strip())


def paragraphs(lines):
    """Joins lines that belong together. Yields the text, and where in it each line begins, with its number."""
    text, begins, last, is_item = "", [], (None, None), False
    for number, column, words in [*lines, (0, 0, "")]:
        words = "" if words.startswith("   ") and not is_item else words.strip()  # indented: code
        if not words or ITEM.match(words) or last != (number - 1, column):
            yield from [(text, begins)] if text else []
            text, begins, is_item = "", [], ITEM.match(words)
        if words:
            begins.append((len(text), number))
            text += NO_WORDS.sub("", ITEM.sub("", words)) + " "
        last = (number, column)


def complaints_of(text, place):
    bare = CODE.sub(lambda found: "`" * len(found[0]), text)  # one word, in which nothing is found
    for sentence in SENTENCE.finditer(bare):
        count = len(sentence[0].split())
        if count > SENTENCE_LIMIT:
            begin = " ".join(text[sentence.start():].split()[:5])
            yield f"{place(sentence)}: a sentence of {count} words ({begin} …): split it; one idea, at most 25 words"
    for finder, instead in FINDERS:
        for found in finder.finditer(bare):
            yield f"{place(found)}: \"{found[0]}\": write: {instead}"


def room_of(name):
    depth = 2 if name.startswith(("src/", "tests/")) else 1
    return name if name.endswith(".md") else "/".join(name.split("/")[:depth])


def names_of(root):
    folders = [root / folder for folder in (".github", "config", "sql", "src", "tests")]
    paths = [*root.glob("*.md"), *(path for folder in folders for path in folder.rglob("*")
                                   if path.is_file() and path.parent.parent != root / "tests/fuzz/corpus")]
    return sorted(str(path.relative_to(root)) for path in paths)


def prose(root, names):
    words, asked = collections.Counter(), collections.defaultdict(collections.Counter)
    for name in names:
        suffix, room = pathlib.Path(name).suffix, room_of(name)
        if name in GENERATED or suffix not in {".md", *COMMENTS}:
            continue
        text = (root / name).read_text(errors="replace")
        if suffix == ".md" and len(FENCE.sub("", text).split()) < DOCUMENT_MINIMUM:
            continue
        for paragraph, begins in paragraphs(
                document_lines(text) if suffix == ".md" else comment_lines(text, COMMENTS[suffix])):
            def place(found):
                return f"{name}:{begins[bisect.bisect_right(begins, (found.start(), math.inf)) - 1][1]}"
            yield from complaints_of(paragraph, place)
            bare = CODE.sub(lambda found: " " * len(found[0]), paragraph)
            words[room] += len(re.findall(r"[A-Za-z']+", bare))
            asked[room].update(map(place, QUESTION.finditer(bare)))
    for room, places in asked.items():
        if places.total() > math.ceil(ALLOWED * words[room] / 1000):
            worst = ", ".join(f"{place} ({count})" for place, count in places.most_common(WORST_LINES))
            yield (f"{room}: {1000 * places.total() / words[room]:.1f} times what, who or whose in 1,000 words, "
                   f"{ALLOWED} are allowed: name the thing or the role; most at {worst}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(print(__doc__.strip(), file=sys.stderr) or 64)
    top = pathlib.Path(sys.argv[1])
    complaints = list(prose(top, sys.argv[2:] or names_of(top)))
    print(*complaints, sep="\n", end="\n" if complaints else "")
    sys.exit(1 if complaints else 0)
