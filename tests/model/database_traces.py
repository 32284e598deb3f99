"""Traces of the integration tests' database.

log_changes.sql logs each change of a row in INBOXD_TEST_PG's server. Each transaction becomes the actions that explain
its changes: a trace for each handler, and for the positions of each inbox. A change by a test's own SQL is not judged.
"""
import collections
import datetime
import itertools
import json
import os
import pathlib
import re
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent
TESTS = ["--filenames-as-tags", "[#random_order],[#sequential],[#sequential_lanes],[#claim],[#settle]"]
Offsets = set[int]


def offsets_of(multirange: str) -> Offsets:
    bounds = [int(each) for each in re.findall(r"-?\d+", multirange)]
    return set(itertools.chain.from_iterable(range(*pair) for pair in zip(bounds[::2], bounds[1::2])))


def words_of(offsets: Offsets) -> str:
    return ",".join(str(each) for each in sorted(offsets)) or "-"


def time_of(text: str | None) -> str:
    if text is None or text.endswith("infinity"):
        return "never" if text == "infinity" else "0"
    return str(round(datetime.datetime.fromisoformat(text).timestamp() * 1_000_000))


class Delivery:
    def __init__(self, row: dict):
        self.name, self.shard = str(row["delivery_id"]), row["shard_id"]
        self.place = (row["sequence"], row["ordinal"] or row["delivery_id"], row["lane"])
        self.pending, self.due = offsets_of(row["pending"]), time_of(row["due_at"])
        self.owner, self.fence = row["owner"] or "0", str(row["fence"])

    def words(self) -> str:
        sequence, ordinal, lane = ("none" if each is None else each for each in self.place)
        return f"{self.name} {self.shard} {sequence} {ordinal} {lane} {words_of(self.pending)} {self.due}"

    def lease(self) -> str:
        return f"lease {self.owner} {self.name} {self.fence} {self.due} {words_of(self.pending)}"


class Handler:
    """The trace of a handler."""
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.events: set[tuple[int, int]] = set()
        self.fences: dict[int, str] = {}  # of sequences

    def add(self, *words: object) -> None:
        self.lines.append(" ".join(str(word) for word in words))

    def transaction(self, changes: list[dict], calls: list[dict], is_of_test: bool) -> None:
        self.add("now", time_of(changes[-1]["at"]))
        self.outcomes = {(x["shard_id"], offset): x["owner"] for x in rows_of(changes, "outcome")
                         if x["outcome"] not in ("dead", "expired") for offset in offsets_of(x["offsets"])}
        self.calls = calls
        self.taken: set[int] = set()
        self.settled_by = ""
        self.is_replay = any(each["relation"] == "dead_letter" and each["after"] is None for each in changes)
        for change in changes:
            before, after = change["before"], change["after"]
            if change["relation"] == "sequence":
                self.sequence(before or {}, after or {}, is_of_test)
            elif change["relation"] == "dead_letter":
                if after is None or before is None or before["state"] != after["state"]:
                    row = after or before
                    self.add("back" if after is None else "dead", row["shard_id"], row["offset"],
                             *([] if after is None else [row["state"]]))
            elif change["relation"] == "delivery":
                old, new = (Delivery(row) if row else None for row in (before, after))
                if new is not None:
                    for offset in new.pending:
                        if (new.shard, offset) not in self.events:
                            self.events.add((new.shard, offset))
                            self.add("event", new.shard, offset, 0)
                if is_of_test:
                    self.by_test(old, new)
                elif new is None or old is None:
                    self.comes_or_goes(old, new)
                else:
                    self.changes(old, new)
        for shard, offset in self.outcomes:
            self.add("outcome", shard, offset)
        if self.is_replay and not is_of_test:
            self.add("replayed")
        if self.settled_by:
            self.add("commit", self.settled_by)

    def by_test(self, old: Delivery | None, new: Delivery | None) -> None:
        if new is not None:
            self.add("set", new.words(), new.owner, new.fence)
        else:
            self.add("unset", old.name)
        for offset in sorted(old.pending - (new.pending if new else set())) if old else []:
            self.events.discard((old.shard, offset))
            self.add("forget", old.shard, offset)

    def sequence(self, old: dict, new: dict, is_of_test: bool) -> None:
        number = (new or old)["sequence"]
        owner, fence, until = (new or {}).get("owner"), str(new.get("fence", 0)), time_of(new.get("leased_until"))
        has_other_fence = fence != str(old.get("fence", 0))
        self.fences[number] = fence
        if is_of_test:
            self.add("set_sequence", number, owner or "0", fence, until)
        elif owner is None:
            if old.get("owner"):
                self.add("release_sequence", old["owner"], number, old["fence"])
        elif has_other_fence and until == time_of(old.get("leased_until")):
            self.add("new_fence", number, fence)
        elif has_other_fence or owner != old.get("owner"):
            self.taken.add(number)
            self.add("take", owner, number, fence, until)
        elif until != time_of(old["leased_until"]):
            self.add("renew_sequence", owner, number, fence, until)

    def comes_or_goes(self, old: Delivery | None, new: Delivery | None) -> None:
        if new is None:
            if old.owner == "0" or not self.settles(old, old.pending):
                self.add("unset", old.name)
        else:
            self.add("row", new.words())
            if new.owner != "0":
                self.add("born", new.owner, new.name, self.fences.get(new.place[0], "0"))
                self.add(new.lease())

    def changes(self, old: Delivery, new: Delivery) -> None:
        is_same_lease = new.owner == old.owner and new.fence == old.fence
        gone = old.pending - new.pending
        if old.place != new.place or new.pending - old.pending:
            self.add("set", new.words(), new.owner, new.fence)
            return
        if gone and not (old.owner != "0" and is_same_lease and self.settles(old, gone)):
            self.add("cut", new.name, "-", len(new.pending))
        if new.owner != "0" and new.owner == old.owner and new.fence != old.fence and new.due == old.due:
            self.add("new_row_fence", new.owner, new.name, new.fence)
        elif new.owner != "0" and not is_same_lease:
            self.add(new.lease())
        elif new.owner != "0" and new.due != old.due:
            self.add("renew", new.owner, new.name, new.fence, new.due)
        elif new.owner == "0" and old.owner != "0":
            if self.is_replay:
                self.add("end_lease", new.name)
                self.add("set", new.words(), 0, 0)
            elif new.place[0] not in self.taken:
                self.add("release", old.owner, new.name, old.fence)
        elif new.due != old.due:
            is_first = old.due == "never" and new.place[2] is not None and new.owner == "0"
            self.add(*(["due", new.name, new.due] if is_first else ["set", new.words(), new.owner, new.fence]))

    def settles(self, old: Delivery, gone: Offsets) -> bool:
        """Whether a settlement explains that the events leave their row."""
        named = [(call["owner"], str(fence), offsets_of(settled)) for call in self.calls
                 for name, fence, settled in zip(call["id"], call["fence"], call["settled"]) if str(name) == old.name]
        named.sort(key=lambda each: each[1] != old.fence)
        done = {offset for offset in gone if (old.shard, offset) in self.outcomes}
        if not named and not done:
            return False
        owner, fence, settled = named[0] if named else (self.outcomes[old.shard, min(done)] or "0", old.fence, gone)
        for offset in done:
            del self.outcomes[old.shard, offset]
        self.settled_by = owner
        self.add("settle", owner, old.name, fence, words_of(done), "-", words_of(settled))
        return True


def rows_of(changes: list[dict], relation: str) -> list[dict]:
    return [each["after"] for each in changes if each["relation"] == relation and each["after"]]


def traces_of(log: list[dict]) -> dict[str, list[str]]:
    transactions: dict[tuple[str, str], list[dict]] = collections.defaultdict(list)
    for change in log:
        transactions[change["inbox"], change["xid"]].append(change)
    traces: dict[str, list[str]] = collections.defaultdict(list)
    handlers: dict[str, Handler] = collections.defaultdict(Handler)
    epochs: dict[tuple[str, int], int] = {}
    for (inbox, _), changes in sorted(transactions.items(), key=lambda each: each[1][-1]["step"]):
        calls = rows_of(changes, "settle")
        is_of_test = not calls and not any(each["by_inbox"] for each in changes)
        for row in rows_of(changes, "routing"):
            traces[inbox].append(f"set_version {row['version']}")
        for row in rows_of(changes, "position"):
            shard, first, following = row["shard_id"], row["first_offset"], row["next_offset"]
            is_next = epochs.get((inbox, shard)) == row["epoch"] and first >= 0 and not is_of_test
            epochs[inbox, shard] = row["epoch"]
            traces[inbox].append(f"ingest 0 {shard} {first} {following} {row['routing_version']}" if is_next else
                                 f"set_position {shard} {following}")
        by_handler: dict[int, list[dict]] = collections.defaultdict(list)
        for change in changes:
            if change["relation"] not in ("routing", "position", "settle"):
                by_handler[(change["after"] or change["before"])["handler_id"]].append(change)
        for number, mine in by_handler.items():
            handlers[f"{inbox} {number}"].transaction(mine, calls, is_of_test)
    return {**traces, **{name: handler.lines for name, handler in handlers.items()}}


def traces_of_tests(program: str) -> dict[str, list[str]]:
    def psql(*arguments: str) -> str:
        return subprocess.run(["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", *arguments, os.environ["INBOXD_TEST_PG"]],
                              check=True, text=True, stdout=subprocess.PIPE).stdout

    psql("-f", str(FOLDER / "log_changes.sql"))
    subprocess.run([program, *TESTS], check=True, stdout=subprocess.DEVNULL)
    log = psql("-c", "select row_to_json(c) from model.change c order by step")
    psql("-c", "set client_min_messages = error; drop event trigger model_watch; drop schema model cascade")
    return traces_of([json.loads(line) for line in log.splitlines()])
