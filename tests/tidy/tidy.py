#!/usr/bin/env python3
"""Style that a machine can check. Each complaint says what to do about it.

usage: tidy.py CHECK ROOT        CHECK: includes third_parties lines sql names logs
"""
import pathlib
import re
import sys

FLOORS = {
    "base": 1,
    "config": 2, "event": 2, "kafka": 2,
    "envelope": 3, "inbox": 3, "trace": 3,
    "consumer": 4, "settler": 4, "plugin": 4, "admin": 4,
    "dispatcher": 5, "maintenance": 5, "relay": 5,
    "daemon": 6,
    "cli": 7,
    "main.cpp": 8,
}
# A header's beginning, and the rooms that may include it.
THIRD_PARTIES = {
    "pqxx/": {"inbox"},
    "libpq-fe.h": {"inbox"},
    "librdkafka/": {"kafka", "consumer", "relay"},
    "yaml-cpp/": {"config"},
    "dlfcn.h": {"plugin"},
    "spdlog/": {"base"},
    "openssl/": {"base"},
    "CLI/": {"cli"},
    "simdjson.h": {"envelope"},
    "xxhash.h": {"envelope"},
    "catch2/": set(),
}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
LINE_LIMIT = 120
FILE_LIMIT = 500
SQL = re.compile(r'"\s*(select\s.+\sfrom\s|insert\s+into\s|delete\s+from\s|update\s+\w+(\.\w+)?\s+set\s)', re.I)
# What a connection asks of the server about itself, not of the inbox.
# The handler `sql` makes its statement of a name that is configured.
SQL_ALLOWED = {"src/inbox/connection.cpp", "src/handlers/sql/statement.cpp"}
LOCKING = re.compile(r"Locks:(?!\s+none)|^\s*(?:insert into|update|delete from) "
                     r"|^(?!--).*\bfor (?:no key )?update\b", re.M)
ABBREVIATIONS = re.compile(r"\b(cfg|mgr|conn_|msg_|ctx|idx|cnt_|tmp_|util|utils|helper|helpers)\b")


def sources(root):
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in {".cpp", ".hpp", ".h"}:
            yield path


def room_of(root, path):
    parts = path.relative_to(root / "src").parts
    if parts[0] == "handlers" or "abi" in parts:
        return None  # stand on the public header alone
    return parts[0]


def includes(root):
    graph = {}
    for path in sources(root):
        room = room_of(root, path)
        graph[path] = []
        if room is None:
            continue
        if room not in FLOORS:
            yield f"{path.relative_to(root)}: room {room} is on no floor: put it into FLOORS in tests/tidy/tidy.py"
            continue
        for quote, header in INCLUDE.findall(path.read_text()):
            target = root / "src" / header
            if quote != '"' or not target.exists():
                continue
            graph[path].append(target)
            other = room_of(root, target)
            if other is not None and other != room and FLOORS[other] >= FLOORS[room]:
                yield (f"{path.relative_to(root)}: {room} (floor {FLOORS[room]}) includes {header} "
                       f"(floor {FLOORS[other]}): a room includes lower floors only; hand the dependency in from above")
    yield from circles(root, graph)


def circles(root, graph):
    done, open_ = set(), []

    def visit(path):
        if path in done:
            return None
        if path in open_:
            return open_[open_.index(path):] + [path]
        open_.append(path)
        for target in graph.get(path, []):
            found = visit(target)
            if found:
                return found
        open_.pop()
        done.add(path)
        return None

    for path in graph:
        found = visit(path)
        if found:
            names = " -> ".join(str(p.relative_to(root)) for p in found)
            yield f"{names}: a circle of files: move what they share into a file of its own"
            return


def third_parties(root):
    for path in sources(root):
        room = room_of(root, path)
        for _, header in INCLUDE.findall(path.read_text()):
            for beginning, rooms in THIRD_PARTIES.items():
                if header.startswith(beginning) and room is not None and room not in rooms:
                    where = " or ".join(sorted(rooms)) or "tests only"
                    yield f"{path.relative_to(root)}: includes <{header}>: that library lives in {where}"


def lines(root):
    folders = ["src", "tests", "sql", "config"]
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".cpp", ".hpp", ".h", ".c", ".sql", ".py"}:
                continue
            text = path.read_text().splitlines()
            for number, line in enumerate(text, 1):
                if len(line) > LINE_LIMIT:
                    name = path.relative_to(root)
                    yield f"{name}:{number}: {len(line)} columns: break the line at {LINE_LIMIT}"
                if line.rstrip() != line:
                    yield f"{path.relative_to(root)}:{number}: white space at the end: remove it"
            if folder == "src" and len(text) > FILE_LIMIT:
                yield f"{path.relative_to(root)}: {len(text)} lines: is it one thing? Split it by its steps"


def sql(root):
    for path in sources(root):
        name = str(path.relative_to(root))
        if name in SQL_ALLOWED:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if SQL.search(line) and not line.lstrip().startswith("//"):
                yield f"{name}:{number}: a statement in C++: put it into a file of its own in sql/queries"
    guide = "".join(line for line in (root / "sql" / "README.md").read_text().splitlines() if line.startswith("|"))
    for path in sorted((root / "sql" / "queries").glob("*.sql")):
        if not path.read_text().startswith("--"):
            yield f"{path.relative_to(root)}: begin with a comment: what for, which locks, which index"
        elif LOCKING.search(path.read_text()) and f"`{path.stem}`" not in guide:
            yield f"{path.relative_to(root)}: it locks rows: name it in sql/README.md among the statements that do"


def names(root):
    for path in sources(root):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0]
            found = ABBREVIATIONS.search(code)
            if found:
                yield f"{path.relative_to(root)}:{number}: `{found.group()}`: write the word out"
            if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
                yield f"{path.relative_to(root)}:{number}: left for later: do it now or take it out"


LOG_CALL = re.compile(r"\b\w*log(?:ger)?_?(?:\.|->)(debug|info|warn|error|write)\(")
LITERALS = r'(?:"(?:[^"\\\n]|\\.)*"\s*)+'
SENTENCE = re.compile(rf"\s*(?:base::LogLevel::\w+,\s*|\w+ \? base::LogLevel::\w+ : base::LogLevel::\w+,\s*)?"
                      rf"(?:[^\",;]*\?\s*{LITERALS}:\s*)?(?:part_ \+ )?{LITERALS}[,)]")
# Sentences that their callers give as constants, and a plugin's lines, which are counted under a constant of ours.
GIVEN_SENTENCES = {"src/consumer/poller.cpp": "sentence,", "src/plugin/instance.cpp": "remark.level,",
                   "src/plugin/host.cpp": "level_of(level),"}


def logs(root):
    """Each kind of log line has a counter and a MESSAGE_ID, made of its sentence: it has to be a constant."""
    for path in sources(root):
        name = str(path.relative_to(root))
        if room_of(root, path) is None:
            continue
        text = path.read_text()
        for call in LOG_CALL.finditer(text):
            rest = text[call.end():]
            given = GIVEN_SENTENCES.get(name)
            if SENTENCE.match(rest) or (given is not None and rest.startswith(given)):
                continue
            number = text.count("\n", 0, call.start()) + 1
            yield f"{name}:{number}: a log line whose sentence is no constant: put what varies into a fact"


CHECKS = {"includes": includes, "third_parties": third_parties, "lines": lines, "sql": sql, "names": names,
          "logs": logs}


def main(arguments):
    if len(arguments) != 2 or arguments[0] not in CHECKS:
        print(__doc__.strip(), file=sys.stderr)
        return 64
    complaints = list(CHECKS[arguments[0]](pathlib.Path(arguments[1])))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
