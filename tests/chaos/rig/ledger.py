"""The books: Kafka's logs from the start against the tables and the calls that the handlers made."""
import subprocess
import time
from collections import Counter, defaultdict


def firsts(pairs):
    """The first (key, id) of each id, in order, by key."""
    seen, out = set(), defaultdict(list)
    for key, event_id in pairs:
        if event_id not in seen:
            seen.add(event_id)
            out[key].append(event_id)
    return out


def out_of_order(wanted, found):
    """How many events of a key come after a later event of it."""
    wrong = 0
    for key, events in found.items():
        place = {event_id: i for i, event_id in enumerate(wanted.get(key, []))}
        highest = -1
        for event_id in events:
            if event_id in place:
                wrong += place[event_id] < highest
                highest = max(highest, place[event_id])
    return wrong


class Load:
    """A row of the report: the wanted events, the events found, and the differences.

    An event under another key counts as unknown; records of the load sql have none.
    """

    def __init__(self, name, wanted, found, ordered, once=True, optional=(), keyed=True):
        counts = Counter(event_id for _, event_id in found)
        expected = {event_id: key for key, events in wanted.items() for event_id in events}
        self.name = name
        self.events = len(expected)
        self.missing = expected.keys() - counts.keys() - set(optional)
        self.lost = len(self.missing)
        repeated = sum(count - 1 for count in counts.values())
        self.doubled = repeated if once else 0
        self.repeated = 0 if once else repeated
        self.twice = [event_id for event_id, count in counts.items() if count > 1][:5]
        self.unknown = len({(key, event_id) for key, event_id in found
                            if event_id not in expected or (keyed and expected[event_id] != key)})
        self.out_of_order = out_of_order(wanted, firsts(found)) if ordered else 0


class Ledger:
    def __init__(self, rig):
        self.rig = rig
        self.resends = 0

    def records(self, topic):
        """The records in the partitions that this database stores."""
        return [record for record in self.rig.brokers.records(topic) if int(record[0]) % self.rig.databases == 0]

    def of_stored_keys(self, wanted, topic):
        """The wanted messages that come back to this database."""
        if self.rig.databases == 1:
            return wanted
        stored = {key for _, _, key, _, _ in self.records(topic)}
        return {key: ids for key, ids in wanted.items() if key in stored}

    def rows(self, table):
        text = self.rig.postgres.ask(
            f"select coalesce(key, '') || '|' || event_id from app.{table} order by place", 60)
        return [tuple(line.split("|")) for line in text.splitlines()]

    def read_logs(self):
        """Ids by key in log order, for each topic."""
        self.logs = {}
        for topic in ("plain", "keyed"):
            records = self.records(topic)
            self.logs[topic] = firsts((key, event_id) for _, _, key, event_id, _ in records)
            self.resends += len(records) - sum(len(ids) for ids in self.logs[topic].values())
        self.forgotten = {event_id for key, ids in self.logs["keyed"].items() if key.startswith("person-")
                          for event_id in ids}
        keyed = {key: ids for key, ids in self.logs["keyed"].items() if not key.startswith("person-")}
        self.logs["keyed"] = keyed

    def loads(self):
        keyed, plain = self.logs["keyed"], self.logs["plain"]
        sent = self.of_stored_keys(firsts(self.rows("sent")), "outgoing")
        received = self.rows("received")
        here = lambda rows: [row for row in rows if not row[0].startswith(("person-", "app-"))]
        calls = [tuple(line.split("\t")[1::-1]) for line in self.rig.calls.read_text().splitlines()]
        copies = [(key, event_id) for _, _, key, event_id, _ in self.rig.brokers.records("copies")]
        return [
            Load("sql", plain, self.rows("plain"), ordered=False, keyed=False),
            Load("sequential", keyed, here(self.rows("list")), ordered=True),
            Load("sequential, park", keyed, here(self.rows("parked")), ordered=True),
            Load("sequential, release", keyed, here(self.rows("released")), ordered=False),
            Load("batch", keyed, here(self.rows("batch")), ordered=False),
            Load("outbox, published", keyed, here(self.rows("published")), ordered=True),
            Load("outbox, received", self.of_stored_keys(keyed, "outgoing"), here(received), ordered=True),
            Load("outbox, application", sent, [row for row in received if row[0].startswith("app-")], ordered=True),
            Load("http", keyed, here(calls), ordered=True, once=False),
            Load("kafka", keyed, here(copies), ordered=True, once=False),
        ]

    def pending(self):
        """The figures of pending work; empty: there is none."""
        lag, unknown = self.rig.postgres.ask(
            "select coalesce(sum(lag), 0), count(*) filter (where lag is null) from inbox.lag").split("|")
        backlog = self.rig.postgres.ask(
            "select coalesce(sum(due + leased + retrying + waiting), 0), coalesce(sum(dead), 0) from inbox.backlog")
        due, dead = backlog.split("|")
        outbox = self.rig.postgres.ask("select count(*) from inbox.outbox")
        if (lag, unknown, due, dead, outbox) == ("0", "0", "0", "0", "0"):
            return ""
        return f"lag {lag}, unknown lags {unknown}, pending {due}, dead {dead}, outbox {outbox}"

    def wait_drained(self, seconds):
        """Replays dead letters until nothing is pending, or changes for so long; returns the last figures."""
        last, before, quiet_since, changed_at = "not asked yet", "", None, time.monotonic()
        while time.monotonic() - changed_at < seconds:
            try:
                self.rig.operators.resume_all()
                last = self.pending()
                if last and " dead 0," not in last:
                    self.rig.daemons.run("dead", "replay", "--all", "--yes")
            except Exception as error:
                last = str(error).splitlines()[0]
            if last:
                quiet_since = None
            elif quiet_since is None:
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since > 3:
                return ""
            if last != before:
                before, changed_at = last, time.monotonic()
            self.rig.progress(f"draining: {last or 'nothing is pending'}")
            time.sleep(1)
        return last

    def applied_again(self):
        """Of the list rows that a failover or a restore lost: (lost by the database, applied again).

        Without those of persons, who may have been forgotten in between.
        """
        if not self.rig.lost_lists:
            return 0, 0
        rows = self.rig.postgres.ask("select event_id, at from app.list", 60)
        now = dict(line.split("|") for line in rows.splitlines())
        lost = again = 0
        for before in self.rig.lost_lists:
            changed = [event_id for event_id, at in before.items()
                       if now.get(event_id) != at and event_id not in self.forgotten]
            lost += len(changed)
            again += sum(event_id in now for event_id in changed)
        return lost, again

    def verify(self):
        """The daemon's own check of its books; empty: nothing contradicts."""
        try:
            self.rig.daemons.run("verify", seconds=300, accepted=(0,))
            return ""
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            self.rig.say(str(error))
            return str(error)

    def report(self, loads, faults, name="faults"):
        say = self.rig.say
        say(f"{'load':<22}{'events':>9}{'lost':>7}{'doubled':>9}{'out of order':>14}{'repeated outside':>18}")
        for load in loads:
            say(f"{load.name:<22}{load.events:>9}{load.lost:>7}{load.doubled:>9}{load.out_of_order:>14}"
                f"{load.repeated:>18}")
            if load.missing:
                say(f"  missing, for example: {' '.join(sorted(load.missing)[:3])}")
            if load.doubled:
                say(f"  doubled, for example: {' '.join(load.twice[:3])}")
            if load.unknown and self.may_be_unknown(load):
                say(f"  of commits that the database lost: {load.unknown}")
            elif load.unknown:
                say(f"  NEVER SENT, or with another key: {load.unknown}")
        say(f"{name}: " + ", ".join(f"{count} {name}" for name, count in sorted(faults.items())))
        lost_commits, again = self.applied_again()
        if lost_commits:
            say(f"rows of lists that failovers and restores took back: {lost_commits}, applied again: {again}")
        events = sum(load.events for load in loads)
        lost, doubled, wrong = (sum(getattr(load, field) for load in loads)
                                for field in ("lost", "doubled", "out_of_order"))
        say(f"total: {events} events, {self.resends} resends, {sum(faults.values())} {name}, {lost} lost, "
            f"{doubled} doubled, {wrong} out of order")
        return lost + doubled + wrong + sum(load.unknown for load in loads if not self.may_be_unknown(load))

    def may_be_unknown(self, load):
        """The relay may have sent messages of commits that a failover or a restore lost then."""
        return load.name == "outbox, application" and bool(self.rig.lost_lists)
