"""What flows: topics, tables, handlers, the producer. Each load has a table or a list that the ledger checks."""
import json
import random
import subprocess
import threading
import time
import uuid
from dataclasses import dataclass

TOPICS = ["plain:4", "keyed:6", "outgoing:4", "copies:3"]
KEYS = 40
TABLES = ["plain", "list", "parked", "released", "batch", "published", "received"]

# gate() fails some events for some seconds, so that retries, lanes and dead letters are a part of each load. An event
# is older at each attempt, so it passes in the end.
SCHEMA = """
create schema app;
create function app.gate(event uuid, received timestamptz, handler text, one_in int, seconds int) returns boolean
language plpgsql volatile as $$
begin
  if abs(hashtext(event::text || handler)::bigint) % one_in = 0
     and received > clock_timestamp() - make_interval(secs => seconds) then
    raise exception 'not yet' using errcode = 'P0001';
  end if;
  return true;
end $$;
""" + "".join(f"create table app.{table} (place bigserial primary key, event_id uuid not null, key text, n bigint, "
              "at timestamptz not null default clock_timestamp());\n"
              for table in TABLES) + """
create table app.sent (place bigserial primary key, event_id uuid not null, key text, n bigint);
"""


@dataclass
class Variant:
    """What rolling deploys change."""
    plain_mode: str = "mode: single"
    batch_mode: str = "mode: batch, batch: {every: 2s, max_events: 500}"
    list_name: str = "list"
    list_scope: str = "partition"
    list_calls: int = 1
    types: str = "[]"
    concurrency: int = 3

    @staticmethod
    def draw(random):
        return Variant(
            plain_mode=random.choice(["mode: single", "mode: single, events_per_call: 50", "mode: sequential",
                                      "mode: sequential, missing_key: partition",
                                      "mode: batch, batch: {every: 1s, max_events: 100}"]),
            batch_mode=random.choice(["mode: batch, batch: {every: 2s, max_events: 500}",
                                      "mode: batch, batch: {every: 1s, max_events: 50}",
                                      "mode: batch, batch: {every: 3s, group_by: key}",
                                      "mode: single, events_per_call: 20", "mode: sequential"]),
            list_name=random.choice(["list", "list-renamed"]),
            list_scope=random.choice(["partition", "handler"]),
            list_calls=random.choice([1, 20]),
            types=random.choice(["[]", "[keyed]", '["key*", other]']),
            concurrency=random.choice([2, 3, 4]))


def insert(table, one_in=0, seconds=0, event_id="event_id"):
    gate = f" where app.gate(event_id, received_at, '{table}', {one_in}, {seconds})" if one_in else ""
    return (f"insert into app.{table} (event_id, key, n) "
            f"""select {event_id}, key, (body->>'n')::bigint from events{gate} order by "offset\"""")


def configuration(rig, name, variant):
    v = variant
    other = "list-renamed" if v.list_name == "list" else "list"
    patient = "retry: {max_attempts: 10000, backoff: fixed, base: 500ms}"
    soon_dead = "retry: {max_attempts: 2, backoff: fixed, base: 300ms}"

    def handler(title, plugin, topic, more, settings, types="[]"):
        return (f"  - {{name: {title}, plugin: {plugin}, start: beginning, {more},\n"
                f"     subscribe: {{topics: [{topic}], types: {types}}},\n     settings: {settings}}}\n")

    def sql(title, topic, more, statement, types="[]"):
        return handler(title, "sql", topic, f"{more}, concurrency: {v.concurrency}",
                       "{statement: " + json.dumps(statement) + "}", types)

    publish = ("with sent as (select event_id, key, body, inbox.publish('outgoing', key, "
               "body || jsonb_build_object('cause', event_id), id => inbox.message_id(event_id, 'outgoing')) "
               "from events) insert into app.published (event_id, key, n) "
               "select event_id, key, (body->>'n')::bigint from sent")
    handlers = [
        sql("plain", "plain", f"{v.plain_mode}, {soon_dead}", insert("plain", 200, 8)),
        sql(v.list_name, "keyed", f"aliases: [{other}], mode: sequential, order_scope: {v.list_scope}, "
            f"events_per_call: {v.list_calls}, {patient}", insert("list", 100, 3)),
        sql("parked", "keyed", f"mode: sequential, on_failure: park, {soon_dead}", insert("parked", 400, 4)),
        sql("released", "keyed", f"mode: sequential, on_failure: park, {soon_dead}", insert("released", 400, 4)),
        sql("batch", "keyed", f"{v.batch_mode}, {patient}", insert("batch", 300, 2), v.types),
        sql("publish", "keyed", f"mode: sequential, events_per_call: 20, {patient}", publish),
        sql("received", "outgoing", f"mode: sequential, {patient}",
            insert("received", event_id="(body->>'cause')::uuid")),
        handler("notify", "http", "keyed", f"mode: sequential, {patient}, concurrency: 8",
                f"{{url: \"{rig.service_url}\"}}", v.types),
        handler("copy", "kafka", "keyed", f"mode: sequential, {patient}", "{topic: copies}", v.types),
    ]
    shard = f"shard: {{index: 0, of: {rig.databases}, lease: 3s}}\n" if rig.databases > 1 else ""
    return f"""database: {{url: {json.dumps(rig.postgres.url)}, deadline: 8s, connections: 60}}
kafka: {{brokers: "{rig.brokers.bootstrap}", group: chaos}}
topics: [{{name: plain}}, {{name: keyed}}, {{name: outgoing}}]
handler_defaults: {{lease: 6s, deadline: 5s, max_crashes: 1000}}
outbox: {{lease: 5s}}
ledger: {{generation_ids: 2000}}
{shard}shutdown: {{drain: 5s}}
log: {{format: json}}
handlers:
{"".join(handlers)}"""


class Publisher(threading.Thread):
    """The application's own messages: a row and a message of the outbox in a transaction, through psql."""

    def __init__(self, rig):
        super().__init__(daemon=True)
        self.rig = rig
        self.random = random.Random(rig.seed + 2)
        self.stopping = threading.Event()

    def run(self):
        session = 0
        while not self.stopping.is_set():
            session += 1  # keys of its own: after a lost connection the last transaction may end later than the next
            psql = subprocess.Popen(
                self.rig.application_host.enter("psql", "-XAtq", self.rig.postgres.url), stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, stderr=open(self.rig.work / "publisher.log", "ab"), text=True,
                start_new_session=True)
            n = 0
            try:
                while psql.poll() is None and not self.stopping.wait(0.2):
                    n += 1
                    psql.stdin.write(self.statement(f"app-{session}-{self.random.randrange(3)}", n))
                    psql.stdin.flush()
                psql.stdin.close()
                psql.wait(30)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                psql.kill()
                psql.wait()
            self.stopping.wait(1)

    def statement(self, key, n):
        event_id = uuid.UUID(int=self.random.getrandbits(128), version=4)
        return (f"with sent as (insert into app.sent (event_id, key, n) values ('{event_id}', '{key}', {n}) "
                "returning *) select inbox.publish('outgoing', key, "
                "jsonb_build_object('cause', event_id, 'n', n), id => event_id) from sent;\n")

    def finish(self):
        self.stopping.set()
        self.join(60)


class Application(threading.Thread):
    """Produces records with and without keys, and resends some of them."""

    def __init__(self, rig, rate):
        super().__init__(daemon=True)
        self.rig = rig
        self.rate = rate
        self.random = random.Random(rig.seed + 1)
        self.stopping = threading.Event()
        self.next_of = {}
        self.recent = []
        self.produced = self.resent = 0
        self.producer = subprocess.Popen(
            rig.application_host.enter(rig.client, "produce", rig.brokers.bootstrap), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=open(rig.work / "producer.log", "ab"), text=True, start_new_session=True)

    def run(self):
        while not self.stopping.wait(0.05):
            for _ in range(max(1, int(self.rate * 0.05))):
                self.produce()
            self.producer.stdin.flush()

    def produce(self):
        if self.recent and self.random.random() < 0.03:
            record = self.random.choice(self.recent)
            self.resent += 1
        else:
            record = self.new_record()
            self.recent = [*self.recent[-200:], record]
            self.produced += 1
        self.producer.stdin.write("\t".join(record) + "\n")

    def new_record(self):
        key = "" if self.random.random() < 0.4 else f"key-{self.random.randrange(KEYS)}"
        if self.random.random() < 0.01:
            key = f"person-{self.random.randrange(10)}"  # these may be forgotten
        n = self.next_of[key] = self.next_of.get(key, 0) + 1
        event_id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        return ("keyed" if key else "plain", key, event_id, json.dumps({"n": n}))

    def finish(self):
        """Waits until the brokers have all records; returns (delivered, failed, not delivered)."""
        self.stopping.set()
        self.join()
        out, _ = self.producer.communicate(timeout=180)
        return [int(number) for number in out.split()]
