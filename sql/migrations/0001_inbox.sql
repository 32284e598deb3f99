-- The inbox: what came from Kafka, what is owed to whom, and what became of it.
--
-- The hot path only ever inserts into position, ledger, event and outcome, and inserts, claims and deletes runs of
-- delivery: nothing that a long-lived snapshot could turn into a pile of dead rows under our feet. `inbox.` is
-- replaced by the configured schema when this file is applied. sql/README.md tells what each table is for, its indexes
-- and the locks that each query takes.

-- "If not exists" would want the right to make one also where there is one already (roles.sql).
do $$ begin
  if to_regnamespace('inbox') is null then create schema inbox; end if;
end $$;

create table inbox.migration (
  version    int primary key,
  name       text not null,
  digest     text not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- Where events come from: one row for each partition in each incarnation of its topic, and a further one from each
-- truncation of its log on that was accepted: offsets are used again then, and must not be taken for the old ones. So
-- does an incarnation that is accepted a second time, after another one: it is read from its beginning again. Ids are
-- random: daemons know shards by them, and after a restore a sequence would give another partition an id that one of
-- them still takes for its own. The newest shard of a partition has the highest ordinal. A halted one waits for an
-- operator where it has a gap, or a new incarnation (the id of the topic that has taken its place), and is tried again
-- by itself otherwise: halted_reason is for people, nothing is read from its words.
create table inbox.shard (
  shard_id        int primary key default 1 + floor(random() * 2147483647)::int check (shard_id > 0),
  source          text not null default 'kafka',
  topic           text not null,
  partition       int not null check (partition >= 0),
  incarnation     text not null default '',
  truncations     int not null default 0 check (truncations >= 0),
  ordinal         int not null default 0 check (ordinal >= 0),
  halted_reason   text,
  halted_at       timestamptz,
  gap             int8range,
  new_incarnation text,
  gaps            int8multirange not null default '{}',
  high_watermark  bigint,
  check ((halted_reason is null) = (halted_at is null)),
  check (halted_reason is not null or (gap is null and new_incarnation is null)),
  check (gap is null or new_incarnation is null),
  unique (source, topic, partition, incarnation, truncations),
  unique (source, topic, partition, ordinal)
);

-- Entries of the configuration (a topic's name or a pattern) whose first start has been: topics and partitions that
-- appear later begin at their beginning.
create table inbox.topic_start (
  entry      text primary key,
  started_at timestamptz not null default clock_timestamp()
);

-- The log of what is ingested: the newest row by (epoch, first_offset) says what comes next. Appended only, each row
-- keyed by the offset it expected. An epoch begins with first_offset -1. No foreign key: it would lock the shard's row
-- for every batch, and each row follows one of the same shard anyway.
create table inbox.position (
  shard_id        int not null,
  epoch           int not null check (epoch >= 0),
  first_offset    bigint not null check (first_offset >= -1),
  next_offset     bigint not null,
  routing_version bigint not null,
  leader_epoch    int not null default -1,
  check (next_offset > first_offset),
  primary key (shard_id, epoch, first_offset)
);

-- Which event ids were seen: for deduplication alone, narrow. received_at: as its event was stored with.
create table inbox.ledger (
  event_id    uuid primary key,
  shard_id    int not null,
  "offset"    bigint not null,
  digest      bigint not null,
  received_at timestamptz not null
);

-- How far the ledger is trimmed: what was received before that day (UTC) was looked for, up to next_block where a walk
-- is under way, which last moved at moved_at. The ledger is walked once a day instead of having an index by day: one
-- more entry for each event costs ingest a twentieth, and a BRIN index finds less and less where rows fill the places
-- of old ones.
create table inbox.ledger_trim (
  only_row   boolean primary key default true check (only_row),
  day        date not null,
  next_block bigint check (next_block >= 0),
  moved_at   timestamptz not null default clock_timestamp()
);
insert into inbox.ledger_trim (day) values ('-infinity');

create table inbox.event (
  shard_id        int not null,
  "offset"        bigint not null,
  event_id        uuid not null,
  source_id       text,
  event_type      text not null,
  source          text,
  subject         text,
  key             bytea,
  payload         bytea,
  headers         bytea,
  occurred_at     timestamptz,
  kafka_timestamp timestamptz,
  received_at     timestamptz not null
) partition by range (received_at);
create index event_place on inbox.event (shard_id, "offset");

-- Subscriptions. Routing reads this table, whoever configured it; the version tells which state a batch was routed by.
-- Ids are random and versions follow the clock: after a failover or a restore a sequence hands out again what a running
-- daemon knows as another handler's, and a counter comes to the same number with other handlers. routing_version: since
-- when it is routed to at all; changed_under: the version under which it came to say what it says.
create table inbox.handler (
  handler_id      int primary key check (handler_id > 0),
  name            text not null unique,
  aliases         text[] not null default '{}',
  mode            text not null default 'single',
  topics          text[] not null default '{}',
  types           text[] not null default '{}',
  started_from    text not null,
  routing_version bigint not null,
  changed_under   bigint not null,
  paused_reason   text,
  retired_at      timestamptz,
  created_at      timestamptz not null default clock_timestamp()
);

-- What a handler subscribed to before a change, and up to which routing version (and so, versions follow the clock, up
-- to what time): what it was owed then it is not owed again, and what it was not it may be.
create table inbox.former_subscription (
  handler_id int not null references inbox.handler on delete cascade,
  until      bigint not null,
  topics     text[] not null,
  types      text[] not null,
  primary key (handler_id, until)
);

-- What a replayed dead letter of a handler's former life (one that was retired and is there again) has owed it in its
-- life of now: the id may come on another topic yet, and is not owed again by that.
create table inbox.carried_over (
  event_id   uuid not null,
  handler_id int not null references inbox.handler on delete cascade,
  primary key (event_id, handler_id)
);

create table inbox.routing (
  only_row boolean primary key default true check (only_row),
  version  bigint not null
);
insert into inbox.routing (version) values (1);

-- What a new handler is still owed of the past, a range of one shard at a time. elsewhere: it does not subscribe to the
-- shard's topic, and is owed only those events that came on a topic of its own, too (also_seen).
create table inbox.backfill (
  handler_id  int not null references inbox.handler,
  shard_id    int not null references inbox.shard,
  next_offset bigint not null,
  end_offset  bigint not null,
  from_time   timestamptz,
  elsewhere   boolean not null default false,
  check (next_offset < end_offset),
  primary key (handler_id, shard_id)
);

-- Events owed to a handler that share a state: a run. Outstanding work only. due_at is when somebody may take it,
-- and so also the end of a lease.
create table inbox.delivery (
  delivery_id   bigint generated by default as identity primary key,
  handler_id    int not null,
  shard_id      int not null,
  pending       int8multirange not null check (not isempty(pending)),
  events        int not null check (events > 0),
  lane          bytea,
  attempts      int not null default 0 check (attempts >= 0),
  claims        int not null default 0 check (claims >= 0),
  fence         bigint not null default 0,
  owner         uuid,
  due_at        timestamptz not null,
  expires_at    timestamptz,
  received_from timestamptz not null,
  received_to   timestamptz not null,
  last_error    text,
  check ((owner is null) = (fence = 0)),
  check (received_from <= received_to),
  check (upper(pending) - lower(pending) <= 10000)  -- by which views and claims find a run
) with (fillfactor = 70);
create index delivery_due on inbox.delivery (handler_id, due_at);

create table inbox.outcome (
  handler_id  int not null,
  shard_id    int not null,
  offsets     int8multirange not null check (not isempty(offsets) and upper(offsets) - lower(offsets) <= 10000),
  outcome     text not null check (outcome in ('done', 'dead', 'expired', 'skipped', 'discarded')),
  attempts    int not null check (attempts >= 0),
  owner       uuid,
  finished_at timestamptz not null default clock_timestamp()
) partition by range (finished_at);
create index outcome_place on inbox.outcome (shard_id, lower(offsets));

create table inbox.failure (
  event_id    uuid not null,
  handler_id  int not null,
  attempt     int not null check (attempt >= 0),
  occurred_at timestamptz not null default clock_timestamp(),
  error_class text not null,
  message     text not null,
  duration    interval not null
) partition by range (occurred_at);
create index failure_event on inbox.failure (event_id);

create table inbox.dead_letter (
  dead_letter_id  bigint generated always as identity primary key,
  handler_id      int not null,
  event_id        uuid not null,
  shard_id        int not null,
  "offset"        bigint not null,
  source_id       text,
  event_type      text not null,
  source          text,
  subject         text,
  key             bytea,
  payload         bytea,
  headers         bytea,
  occurred_at     timestamptz,
  kafka_timestamp timestamptz,
  received_at     timestamptz not null,
  attempts        int not null check (attempts >= 0),
  reasons         jsonb not null,
  state           text not null default 'dead' check (state in ('dead', 'expired', 'parked')),
  died_at         timestamptz not null default clock_timestamp(),
  notes           text,
  unique (handler_id, shard_id, "offset")  -- an id may come again when the ledger has forgotten it: another event
);
create index dead_letter_event on inbox.dead_letter (event_id);
create index dead_letter_handler on inbox.dead_letter (handler_id, died_at);

-- Records that could not become events, raw.
create table inbox.quarantine (
  quarantine_id   bigint generated always as identity primary key,
  shard_id        int not null,
  "offset"        bigint not null,
  reason          text not null check (reason in ('no_id', 'bad_id', 'too_large', 'undecodable', 'conflict', 'poison')),
  detail          text not null,
  event_id        uuid,
  key             bytea,
  payload         bytea,
  payload_size    bigint not null check (payload_size >= 0),
  digest          bigint not null,
  headers         bytea,
  kafka_timestamp timestamptz,
  received_at     timestamptz not null default clock_timestamp()
);
create index quarantine_place on inbox.quarantine (shard_id, "offset");

-- The same id on another topic: handlers that subscribe only to the second topic are owed the event once, those that
-- are added later (a later routing version) by their back-fill. shard_id and offset: where the event is; event_type: of
-- the record there, which may be another than the event was stored with.
create table inbox.also_seen (
  event_id        uuid not null,
  topic           text not null,
  event_type      text not null,
  shard_id        int not null,
  "offset"        bigint not null,
  routing_version bigint not null,
  seen_at         timestamptz not null default clock_timestamp(),
  primary key (event_id, topic)
);

create table inbox.instance (
  instance_id  uuid primary key,
  host         text not null,
  version      text not null,
  process_id   int not null,
  started_at   timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp(),
  stopped_at   timestamptz,
  trouble      text, -- what it cannot do now, in a sentence: brokers that do not answer, a topic that they do not know
  handlers     int[] not null default '{}', -- those that it runs, as of its last sign of life
  taken_up     int[] not null default '{}'  -- those of the configuration that it has registered last
);

create table inbox.audit (
  audit_id    bigint generated always as identity primary key,
  occurred_at timestamptz not null default clock_timestamp(),
  actor       text not null,
  operation   text not null,
  target      text not null,
  detail      jsonb not null default '{}'
);
