#!/usr/bin/env python3
"""Style that a machine can check. Each complaint names the mend.

usage: tidy.py CHECK ROOT        CHECK: includes third_parties lines sql names logs
"""
import pathlib
import re
import sys

FLOORS = {
    "base": 1,
    "config": 2, "event": 2, "history": 2, "kafka": 2,
    "formats": 2.5,
    "envelope": 3, "inbox": 3, "trace": 3,
    "transaction": 3.3, "operations": 3.5,
    "consumer": 4, "settler": 4, "plugin": 4, "admin": 4, "webhook": 4.5,
    "queue": 5, "maintenance": 5, "relay": 5, "verify": 5,
    "claimer": 5.3, "workers": 5.6,
    "daemon": 6,
    "testing": 6.5,
    "cli": 7,
    "main.cpp": 8,
}
# A header's beginning, and the rooms that may include it.
THIRD_PARTIES = {
    "pqxx/": {"inbox", "transaction", "operations"},
    "libpq-fe.h": {"inbox", "transaction"},
    "librdkafka/": {"kafka", "consumer", "relay"},
    "yaml-cpp/": {"config"},
    "dlfcn.h": {"plugin"},
    "spdlog/": {"base"},
    "openssl/": {"base", "admin"},
    "curl/": {"base"},
    "CLI/": {"cli"},
    "simdjson.h": {"envelope"},
    "xxhash.h": {"envelope"},
    "google/": {"formats"},
    "catch2/": set(),
}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
LINE_LIMIT = 120
FILE_LIMIT = 500
SQL = re.compile(r'"\s*(select\s.+\sfrom\s|insert\s+into\s|delete\s+from\s|update\s+\w+(\.\w+)?\s+set\s)', re.I)
# Questions of a connection about its own session.
# The handler `sql` builds its statement from a configured name.
# An imported connector's statement is written into its configuration, and not run.
SQL_ALLOWED = {"src/inbox/connection.cpp", "src/handlers/sql/sql_statement.cpp", "src/cli/upsert_statement.cpp"}
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


LOG_TABLE = "src/base/log_messages_*.hpp"
LITERALS = r'(?:"(?:[^"\\\n]|\\.)*"\s*)+'
LOG_ROW = re.compile(rf'^    \{{"([^"]*)",\s*(\w+),\s*({LITERALS}),\s*({LITERALS})(?:,\s*({LITERALS}))?\}},$', re.M)
LOG_ROOMS = {"ingest", "handler", "dispatcher"}  # beside the folders of src; dispatcher: queue, claimer and workers
LOG_TEXT_LIMIT = 90
LOG_CALL = re.compile(r"\b(?:\w*log(?:ger)?_?(?:\.|->)(debug|info|warn|error|write)|complain)\(")
LOG_SLUGS = re.compile(r'\s*(?:[^",;]*\?\s*"([\w.]+)"\s*:\s*)?"([\w.]+)"\s*[,)]')
LOG_FACTS = re.compile(r"\bLogger::Facts \w+\{")
RESERVED_FACT = re.compile(r'\{\s*"(time|level|message|kind)"\s*,')
PASSED_ON = "slug, "  # the first argument in Poller::complain, whose callers are checked


def log_table_text(root):
    """The halves of LOG_TABLE, in the order of their slugs."""
    halves = [path.read_text() for path in root.glob(LOG_TABLE)]
    return "".join(sorted(halves, key=lambda text: text.split('    {"', 1)[-1]))


def log_table(root):
    """The rows of LOG_TABLE: slug, level, text, help, remedy."""
    def value(literals):
        return "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', literals or ""))
    return [(slug, level, value(text), value(help_), value(remedy))
            for slug, level, text, help_, remedy in LOG_ROW.findall(log_table_text(root))]


def balanced(text, start):
    """The text from `start` to the bracket that closes the one before it."""
    depth = 1
    for token in re.finditer(r'"(?:[^"\\\n]|\\.)*"|[(){}]', text[start:]):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(token.group(), 0)
        if depth == 0:
            return text[start:start + token.end()]
    return text[start:]


def log_rows(root):
    text = log_table_text(root)
    rows = log_table(root)
    if len(rows) != len(re.findall(r'^    \{"', text, re.M)):
        yield f"{LOG_TABLE}: a row has another form: write slug, level, text, help and remedy as in the others"
    slugs = [row[0] for row in rows]
    if slugs != sorted(set(slugs)):
        yield f"{LOG_TABLE}: slugs are not sorted, or one is there twice: sort the rows by slug"
    for slug, level, text, help_, remedy in rows:
        where = f"{LOG_TABLE}: {slug}"
        room = slug.split(".")[0]
        if not re.fullmatch(r"[a-z]+\.[a-z][a-z0-9_]*", slug) or room not in FLOORS.keys() | LOG_ROOMS:
            yield f"{where}: write a slug as room.snake_case, the room being a folder of src"
        if not text.startswith(room + ": ") or len(text) > LOG_TEXT_LIMIT:
            yield f"{where}: begin the text with `{room}: `, and end it within {LOG_TEXT_LIMIT} characters"
        if not help_.endswith(".") or (remedy and not remedy.endswith(".")):
            yield f"{where}: write help and remedy as sentences"
        if level in {"warn", "error"} and not remedy and room != "handler":
            yield f"{where}: add a remedy, the action of an operator"


def logs(root):
    """Each kind of log line has a row in LOG_TABLE, and its calls name that row and its level."""
    yield from log_rows(root)
    levels = {slug: level for slug, level, *_ in log_table(root)}
    unused = set(levels)
    for path in sources(root):
        name = str(path.relative_to(root))
        room = room_of(root, path)
        if room is None:
            continue
        text = path.read_text()
        for call in LOG_CALL.finditer(text):
            if call[1] is None and room != "consumer" or text.startswith("std::string_view", call.end()):
                continue  # another complain(), or the declaration of complain()
            where = f"{name}:{text.count(chr(10), 0, call.start()) + 1}"
            arguments = balanced(text, call.end())
            if call[1] == "write":  # a line of a plugin, with its level and text
                found = re.search(r'"(handler\.\w+)"\)$', arguments)
                slugs = [found[1]] if found and room == "plugin" else []
            else:
                found = LOG_SLUGS.match(arguments)
                slugs = [slug for slug in found.groups() if slug] if found else []
                if not slugs and name == "src/consumer/poller.cpp" and arguments.startswith(PASSED_ON):
                    continue
            if not slugs:
                yield f'{where}: begin a log call with a literal slug: log.warn("room.event", ...)'
            for slug in slugs:
                unused.discard(slug)
                if slug not in levels:
                    yield f"{where}: {slug} has no row: add it to {LOG_TABLE}"
                elif call[1] != "write" and (call[1] or "warn") != levels[slug]:
                    yield f"{where}: {slug} has level {levels[slug]} in {LOG_TABLE}: use one level in both"
        unused.difference_update(re.findall(r'find_log_message\("([\w.]+)"\)', text))  # of a line without the logger
        for begin in [*LOG_CALL.finditer(text), *LOG_FACTS.finditer(text)]:
            for fact in RESERVED_FACT.findall(balanced(text, begin.end())):
                number = text.count("\n", 0, begin.start()) + 1
                yield f"{name}:{number}: a fact named {fact} hides a field of the line: rename the fact"
    for slug in sorted(unused):
        yield f"{LOG_TABLE}: no call logs {slug}: remove the row"


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
