-- Tables and types of the inbox. Functions and views: sql/functions, sql/views. sql/README.md lists each table's
-- purpose and indexes, and the locks of each statement. `inbox.` is replaced by the configured schema.
--
-- The hot path inserts into position, ledger, event and outcome, and inserts, claims and deletes rows of delivery. It
-- updates nothing else, so that a long-lived snapshot does not pile up dead rows.

-- `create schema if not exists` needs the right to create one even if the schema exists (roles.sql).
do $$ begin
  if to_regnamespace('inbox') is null then create schema inbox; end if;
end $$;

create table inbox.migration (
  version    int primary key,
  name       text not null,
  digest     text not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- The functions and views that were applied last: the digest of their text, and the release of inboxd that applied
-- them.
create table inbox.repeatable_migration (
  name       text primary key,
  digest     text not null,
  release    text not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- A partition in one incarnation of its topic. A partition gets a further shard when a truncation of its log is
-- accepted, because offsets repeat with other records. It also gets one when an earlier incarnation is accepted again
-- and read from its beginning. The newest shard of a partition has the highest ordinal.
--
-- Ids are random: daemons know shards by id, and after a restore a sequence would give an id in use to another
-- partition. A halted shard waits for an operator if it has a gap or a new_incarnation (the id of the topic that
-- replaced its own). Otherwise the daemon retries. halted_reason is for people; no code reads its words. high_watermark
-- and last_stable_offset are the brokers' answers at observed_at. held_since: since when an open transaction has kept
-- last_stable_offset in place. trimmed_before: inbox.trim_events has deleted events received before that; null: none.
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
  last_stable_offset bigint,
  observed_at     timestamptz,
  held_since      timestamptz,
  trimmed_before  timestamptz,
  check ((halted_reason is null) = (halted_at is null)),
  check (halted_reason is not null or (gap is null and new_incarnation is null)),
  check (gap is null or new_incarnation is null),
  unique (source, topic, partition, incarnation, truncations),
  unique (source, topic, partition, ordinal)
);

-- Configuration entries (a topic's name or a pattern) that had their first start. Topics and partitions that appear
-- later are read from their beginning.
create table inbox.topic_start (
  entry      text primary key,
  started_at timestamptz not null default clock_timestamp()
);

-- Who reads each partition of the configured topics, and how far, also of partitions without a position. instance_id:
-- the last reader, which wrote the row at read_at; other instances keep the rows of partitions without a reader
-- (seen_at). moved_at: when the position last changed, or was at the end. reason: why the reader does not know the
-- position. member: the member of the group that has the partition and is no daemon of this inbox.
create table inbox.reading (
  topic          text not null,
  partition      int not null,
  instance_id    uuid,
  read_at        timestamptz,
  position       bigint,
  high_watermark bigint,
  reason         text,
  member         text,
  moved_at       timestamptz not null default clock_timestamp(),
  seen_at        timestamptz not null default clock_timestamp(),
  check ((instance_id is null) = (read_at is null)),
  primary key (topic, partition)
) with (fillfactor = 50);

-- How far each shard is ingested: the newest row by (epoch, first_offset) has the next offset. Append-only, each row
-- keyed by the offset that it expected. An epoch begins with first_offset -1. No foreign key, because it would lock the
-- shard's row for every batch.
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

-- Event ids that were stored, for deduplication. Narrow. received_at equals that of the event's row. A partition for
-- each generation: ids go into the current one (routing.generation), the others are frozen.
create table inbox.ledger (
  event_id    uuid not null,
  shard_id    int not null,
  generation  int not null,
  "offset"    bigint not null,
  digest      bigint not null,
  received_at timestamptz not null
) partition by list (generation);
create table inbox.ledger_g1 (like inbox.ledger, primary key (event_id));
alter table inbox.ledger attach partition inbox.ledger_g1 for values in (1);

-- shards, tops: the positions when it was frozen; its ids came from below. A position that moves back keeps it.
-- filter_key: random, drawn when the generation was frozen. It names the filter of its ids, so that a filter of a
-- freeze that a failover or a restore has undone is not taken for another's.
create table inbox.ledger_generation (
  generation int primary key,
  began_at   timestamptz not null default clock_timestamp(),
  frozen_at  timestamptz,
  filter_key bigint unique,
  shards     int[],
  tops       bigint[],
  check ((frozen_at is null) = (filter_key is null))
);
create unique index ledger_current on inbox.ledger_generation ((frozen_at is null)) where frozen_at is null;
insert into inbox.ledger_generation (generation) values (1);

-- Filters of frozen generations, in parts: derived, each can be made again. digest: of the whole filter, in each part.
create table inbox.ledger_filter (
  filter_key bigint not null references inbox.ledger_generation (filter_key) on delete cascade,
  part       int not null,
  parts      int not null check (part < parts),
  digest     bigint not null,
  bits       bytea not null,
  primary key (filter_key, part)
);
alter table inbox.ledger_filter alter column bits set storage external;

-- How old stored ids were when a producer sent them again, by day (UTC): resends of at most so many seconds.
create table inbox.resend_age (
  day     date not null,
  seconds int not null,
  resends bigint not null check (resends > 0),
  primary key (day, seconds)
);

-- forgotten_before: ids received before may be gone; null: none is. dead_letters_before: the newest dead letter that
-- retention has deleted.
create table inbox.ledger_trim (
  only_row            boolean primary key default true check (only_row),
  forgotten_before    timestamptz,
  dead_letters_before timestamptz
);
insert into inbox.ledger_trim default values;

-- forgotten_at: when `events forget` erased key, payload, headers and subject. No handler gets such an event.
-- deliver_at: no handler gets it before; null: at once. decoded: the JSON of the payload, if its topic has a format
-- (topics[].value).
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
  received_at     timestamptz not null,
  forgotten_at    timestamptz,
  deliver_at      timestamptz,
  decoded         bytea
) partition by range (received_at);
create index event_place on inbox.event (shard_id, "offset");

-- Pending events of dropped days. inbox.drop_partition raises the upper bound to the end of the dropped day;
-- inbox.trim_events deletes the events once they are settled.
create table inbox.event_kept partition of inbox.event for values from (minvalue) to ('1970-01-01 00:00:00+00');
alter table inbox.event_kept replica identity full;  -- else a publication for all tables would refuse deletions

-- Subscriptions of all instances. Routing reads this table under the version in inbox.routing. Ids are random and
-- versions follow the clock: after a failover or a restore, a sequence would repeat an id and a counter would repeat a
-- version that running daemons know with other handlers. routing_version: the first version that routes to the handler.
-- changed_under: the version of its last change.
create table inbox.handler (
  handler_id      int primary key check (handler_id > 0),
  name            text not null unique,
  aliases         text[] not null default '{}',
  mode            text not null default 'single' check (mode in ('single', 'sequential', 'batch')),
  order_scope     text not null default 'partition' check (order_scope in ('partition', 'handler')),
  order_settings  text not null default 'single',  -- all settings that decide the order (config::order_text)
  topics          text[] not null default '{}',
  types           text[] not null default '{}',
  started_from    text not null,
  routing_version bigint not null,
  changed_under   bigint not null,
  paused_reason   text,
  is_paused       boolean not null generated always as (paused_reason is not null) stored,  -- for role monitor
  self_paused     boolean not null default false,  -- by its fuse or at an error, not by an operator
  limit_paused    boolean not null default false,  -- at retention.dead_letter_bytes; it resumes below the limit
  fuse            text check (fuse in ('blown', 'trying')),
  trial_owner     uuid,  -- the process that tries one event
  trial_until     timestamptz,
  retired_at      timestamptz,
  fed_at          timestamptz,  -- when a command last added deliveries, which owners of its sequences do not expect
  created_at      timestamptz not null default clock_timestamp()
);

-- Earlier subscriptions of a handler, each valid up to a routing version, and so up to a time. An event that comes
-- again on another topic is delivered only to handlers that did not subscribe to it the first time.
create table inbox.former_subscription (
  handler_id int not null references inbox.handler on delete cascade,
  until      bigint not null,
  topics     text[] not null,
  types      text[] not null,
  primary key (handler_id, until)
);

-- version: of the handlers' subscriptions and of the ledger's generations. generation: the current one.
create table inbox.routing (
  only_row   boolean primary key default true check (only_row),
  version    bigint not null,
  generation int not null default 1
);
insert into inbox.routing (version) values (1);

-- Ranges of stored events that are not yet turned into deliveries for a new handler. elsewhere: the handler does not
-- subscribe to the shard's topic and gets only events that also came on one of its topics (also_seen).
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

-- `handlers backfill`: the last request of a handler. It has ended once no range is left and instances have claimed all
-- of its deliveries. topics and types narrow the subscription (empty: all of it). offsets: of all ranges at the start.
-- fed_ids: deliveries of the last bites, the newest given at fed_at. spent_until: tokens of `rate` are granted up to
-- this time.
create table inbox.backfill_request (
  handler_id       int primary key references inbox.handler,
  from_time        timestamptz not null,
  to_time          timestamptz not null,
  topics           text[] not null default '{}',
  types            text[] not null default '{}',
  again            boolean not null,
  rate             int check (rate > 0),
  offsets          bigint not null,
  requested_at     timestamptz not null default clock_timestamp(),
  fed_at           timestamptz not null default clock_timestamp(),
  fed_ids          bigint[] not null default '{}',
  spent_until      timestamptz not null default clock_timestamp(),
  delivered_events bigint not null default 0,
  deleted_letters  bigint not null default 0,
  ended_at         timestamptz,
  cancelled        boolean not null default false
) with (fillfactor = 50);

-- The offsets of a request that are left in a shard. elsewhere: as in backfill.
create table inbox.backfill_range (
  handler_id  int not null references inbox.backfill_request on delete cascade,
  shard_id    int not null references inbox.shard,
  next_offset bigint not null,
  end_offset  bigint not null,
  elsewhere   boolean not null,
  check (next_offset < end_offset),
  primary key (handler_id, shard_id)
) with (fillfactor = 50);

-- The right to run one sequential handler's events of one shard, or of all shards (0), in order. One owner at a time:
-- it changes only under the exclusive routing lock, so that no ingest transaction leases deliveries to an old owner.
-- wanted_by: an instance that has the partition assigned and waits for another owner to release the sequence.
create table inbox.sequence (
  handler_id   int not null references inbox.handler on delete cascade,
  sequence     int not null check (sequence >= 0),
  owner        uuid,
  fence        bigint not null default 0,
  leased_until timestamptz,
  wanted_by    uuid,
  primary key (handler_id, sequence),
  check ((owner is null) = (fence = 0)),
  check ((owner is null) = (leased_until is null))
) with (fillfactor = 50);

-- The window of a batch handler. A window closes at closed_at and has the events received before that, in rows with an
-- ordinal up to last_ordinal: later rows are of the next window. Its calls run until ended_at. Closes up to
-- decided_until were made, postponed for want of events, or had none. retrying and dead: of the window when it ended.
-- grouped_to: with group_by: key, rows up to this ordinal are cut by key.
create table inbox.batch_window (
  handler_id      int primary key references inbox.handler on delete cascade,
  decided_until   timestamptz not null default clock_timestamp(),
  next_close      timestamptz,
  asked_at        timestamptz,
  postponed       int not null default 0 check (postponed >= 0),
  postponed_since timestamptz,
  closed_at       timestamptz,
  began_at        timestamptz,
  ended_at        timestamptz,
  last_ordinal    bigint not null default 0,
  grouped_to      bigint not null default -1,
  events          bigint not null default 0,
  retrying        bigint not null default 0,
  dead            bigint not null default 0,
  check ((closed_at is null) = (began_at is null)),
  check ((postponed = 0) = (postponed_since is null))
) with (fillfactor = 50);

-- A handler with `rate` or `max_in_flight`, which hold over all instances. The lock on its row guards token_grant and
-- call_share. The row never changes.
create table inbox.handler_limit (
  handler_id int primary key references inbox.handler on delete cascade
);

-- Tokens of a handler with `rate` are granted up to spent_until: the newest row counts. A grant inserts a row and
-- deletes the row before. An update in place would walk all versions that an old snapshot keeps.
create table inbox.token_grant (
  handler_id  int not null references inbox.handler_limit on delete cascade,
  grant_id    bigint generated always as identity,
  spent_until timestamptz not null,
  primary key (handler_id, grant_id)
);

-- The parallel calls of a handler with `max_in_flight` that an instance may make, leased. wanted: how many it could
-- use. served_at: when it had any. Replaced like token_grant: the newest row of an owner counts.
create table inbox.call_share (
  handler_id   int not null references inbox.handler_limit on delete cascade,
  owner        uuid not null,
  share_id     bigint generated always as identity,
  calls        int not null check (calls >= 0),
  wanted       int not null check (wanted >= 0),
  served_at    timestamptz not null,
  leased_until timestamptz not null,
  primary key (handler_id, owner, share_id)
);

-- Pending events of one shard for one handler that share a state: a run.
--
-- Without a sequence, due_at is when any instance may claim the row, and so also the end of a lease. A row of a
-- sequence is leased exactly while it has an owner, and only to the owner of its sequence. It has no due time
-- (infinity), except for the first row of a lane: that is due when its event may be tried again.
--
-- The rows of a batch handler are one sequence (0). They wait for their window, those of failed events for one that
-- closes after due_at. group_key: of a window with group_by: key, the hash of the key of all its events.
--
-- alone_claim: of claims, the last one, if it gave this single event to a call of its own as a suspect.
--
-- lane: the hash of an order key whose first pending event failed. The key's later events wait in further rows of the
-- lane. order_key: the key itself, shortened. ordinal: the place in the order of storing;
-- null for delivery_id, 0 for history.
create table inbox.delivery (
  delivery_id   bigint generated by default as identity primary key,
  handler_id    int not null,
  shard_id      int not null,
  sequence      int,
  ordinal       bigint,
  lane          bigint check (lane is null or sequence is not null),
  order_key     bytea,
  group_key     bigint,
  pending       int8multirange not null check (not isempty(pending)),
  events        int not null check (events > 0),
  attempts      int not null default 0 check (attempts >= 0),
  claims        int not null default 0 check (claims >= 0),
  alone_claim   int,
  fence         bigint not null default 0,
  owner         uuid,
  due_at        timestamptz not null,
  never_expires boolean not null default false,  -- an operator has replayed it
  postponed     boolean not null default false,  -- for state `waiting`: until the deliver_at of its events
  received_from timestamptz not null,
  received_to   timestamptz not null,
  last_error    text,
  check ((owner is null) = (fence = 0)),
  check (received_from <= received_to),
  check (upper(pending) - lower(pending) <= 10000)  -- views and claims find a run by this bound
) with (fillfactor = 70);
create index delivery_due on inbox.delivery (handler_id, due_at);
create index delivery_fresh on inbox.delivery (handler_id, due_at)
  where attempts = 0 and last_error is null and owner is null and sequence is null;
create index delivery_order on inbox.delivery (handler_id, sequence, (coalesce(ordinal, delivery_id)))
  where sequence is not null and lane is null;
create index delivery_lane on inbox.delivery (handler_id, sequence, lane, (coalesce(ordinal, delivery_id)))
  where lane is not null;
create index delivery_suspect on inbox.delivery (claims) where claims >= 3;
create index delivery_group on inbox.delivery (handler_id, group_key, (coalesce(ordinal, delivery_id)))
  where group_key is not null;

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
create index failure_time on inbox.failure using brin (occurred_at);

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
  sequence        int,
  ordinal         bigint,
  lane            bigint check (lane is null or sequence is not null),
  order_key       bytea,
  forgotten_at    timestamptz,
  parks           boolean not null default false check (not parks or lane is not null),
  deliver_at      timestamptz,
  decoded         bytea,
  error_class     text generated always as (reasons -> -1 ->> 'error_class') stored,  -- for role monitor
  unique (handler_id, shard_id, "offset")  -- not event_id: it may return as another event once the ledger is trimmed
);
create index dead_letter_event on inbox.dead_letter (event_id);
create index dead_letter_handler on inbox.dead_letter (handler_id, died_at);
create index dead_letter_parks on inbox.dead_letter (handler_id, sequence, lane) where parks;
create index dead_letter_lane on inbox.dead_letter (handler_id, sequence, lane) where lane is not null;

-- Where the dead letters of a handler are published (dead_letters.topic), and the group that reads its topics.
-- claimed_at: when an instance with this topic in its configuration last said so.
create table inbox.dead_letter_topic (
  handler_id     int primary key references inbox.handler on delete cascade,
  topic          text not null,
  consumer_group text not null,
  claimed_at     timestamptz not null default clock_timestamp()
);

-- Payload and headers that an operator has put in place of an event's for one handler (`dead edit`). The event and its
-- dead letter keep the original. received_at: of the event.
create table inbox.edit (
  edit_id     bigint generated always as identity primary key,
  handler_id  int not null,
  shard_id    int not null,
  "offset"    bigint not null,
  event_id    uuid not null,
  payload     bytea,
  headers     bytea,
  received_at timestamptz not null,
  edited_at   timestamptz not null default clock_timestamp(),
  edited_by   text not null,
  unique (handler_id, shard_id, "offset")
);

-- Raw records that could not become events.
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
  received_at     timestamptz not null default clock_timestamp(),
  forgotten_at    timestamptz
);
create index quarantine_place on inbox.quarantine (shard_id, "offset");

-- Event ids that came again on another topic. Handlers of that topic alone get the event once; handlers added later get
-- it by backfill. shard_id and offset: the place of the stored event. event_type: of the record on the other topic,
-- which may differ from the stored event's.
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

-- Counts of stored events without a subscribed handler, by topic and type. The number of types is limited
-- (src/inbox/unsubscribed.hpp).
create table inbox.unsubscribed (
  topic      text not null,
  event_type text not null,
  events     bigint not null check (events > 0),
  first_at   timestamptz not null default clock_timestamp(),
  last_at    timestamptz not null default clock_timestamp(),
  primary key (topic, event_type)
);

-- Messages that transactions have published and the relay has yet to send to Kafka, in order of outbox_id. message_id
-- travels in a header. headers: packed, as in event. The transaction has its id (xid) before it draws outbox_id: so the
-- relay knows when no transaction can add a lower one.
create table inbox.outbox (
  outbox_id    bigint generated always as identity primary key,
  message_id   uuid not null,
  topic        text not null check (length(topic) between 1 and 249),
  key          bytea,
  payload      bytea,
  headers      bytea,
  published_at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000);

-- Messages that wait behind a failed one: of its topic and key, or of its whole topic. The relay tries the lane again
-- at due_at, from its first message; null: an operator has to. failed_id: the message that was refused, null once it
-- was sent or skipped. attempts: refusals; 0 once the first message was sent, and those behind it follow. lane:
-- inbox.outbox_lane_of.
create table inbox.outbox_lane (
  lane        bigint primary key,
  topic       text not null,
  key         bytea,
  whole_topic boolean not null,
  error       text not null,
  attempts    int not null check (attempts >= 0),
  failed_id   bigint,
  stopped_at  timestamptz not null default clock_timestamp(),
  due_at      timestamptz
) with (fillfactor = 50);
create index outbox_lane_due on inbox.outbox_lane (due_at) where due_at is not null;

-- alone: of a batch that was refused. It is sent in one of its own, which tells whether it was the cause.
create table inbox.outbox_waiting (
  outbox_id    bigint primary key,
  message_id   uuid not null,
  topic        text not null,
  key          bytea,
  payload      bytea,
  headers      bytea,
  published_at timestamptz not null,
  lane         bigint not null,
  alone        boolean not null
);
create index outbox_waiting_lane on inbox.outbox_waiting (lane, outbox_id);

-- The right to send the outbox: one owner at a time. No message below low_water is left. message_bytes: the configured
-- limit, of the last owner.
create table inbox.relay (
  only_row      boolean primary key default true check (only_row),
  owner         uuid,
  fence         bigint not null default 0,
  leased_until  timestamptz,
  low_water     bigint not null default 0,
  message_bytes int not null default 1000000,
  check ((owner is null) = (fence = 0)),
  check ((owner is null) = (leased_until is null))
) with (fillfactor = 50);
insert into inbox.relay default values;

-- Topics with `source: local`: their only shard, the limit for payload, key and headers of an event, and how far ahead
-- its deliver_at may be. id_decides: an event with a known id of the topic is a duplicate, also if its key or payload
-- differs. Topics stay declared when no configuration names them any more: another instance may still have them, and
-- their events are stored.
create table inbox.local_topic (
  topic            text primary key,
  shard_id         int not null unique,
  payload_limit    int not null check (payload_limit > 0),
  deliver_at_limit interval not null,
  id_decides       boolean not null
);

-- Events that transactions have enqueued and that are not stored yet, in order of local_id. headers: packed, as in
-- event. The transaction has its id (xid) before it draws local_id: so the reader knows when no transaction can add a
-- lower one. No foreign key, because it would lock the topic's row for every event. digest: of an event that came over
-- HTTP (inbox.receive), so that a resend is found before the event is stored.
create table inbox.local_event (
  local_id    bigint generated always as identity primary key,
  shard_id    int not null,
  event_id    uuid not null,
  event_type  text not null,
  key         bytea,
  payload     bytea,
  headers     bytea,
  occurred_at timestamptz,
  deliver_at  timestamptz,
  source_id   text,
  source      text,
  subject     text,
  digest      bigint
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000);
create index local_event_received on inbox.local_event (event_id) where digest is not null;

-- The right to read local_event: one owner at a time. No event below low_water is left. It saves work only: two readers
-- would store nothing twice, because the position decides.
create table inbox.local_reader (
  only_row     boolean primary key default true check (only_row),
  owner        uuid,
  fence        bigint not null default 0,
  leased_until timestamptz,
  low_water    bigint not null default 0,
  check ((owner is null) = (fence = 0)),
  check ((owner is null) = (leased_until is null))
) with (fillfactor = 50);
insert into inbox.local_reader default values;

-- Of several databases that share topics: which one this is, as of the first start, and the right to read its
-- partitions, which one instance has. The right saves work only, as in local_reader.
create table inbox.ingest_right (
  only_row     boolean primary key default true check (only_row),
  shard_index  int,
  shard_of     int,
  owner        uuid,
  fence        bigint not null default 0,
  leased_until timestamptz,
  check ((shard_index is null) = (shard_of is null)),
  check (shard_index >= 0 and shard_index < shard_of),
  check ((owner is null) = (fence = 0)),
  check ((owner is null) = (leased_until is null))
) with (fillfactor = 50);
insert into inbox.ingest_right default values;

create table inbox.instance (
  instance_id  uuid primary key,
  host         text not null,
  version      text not null,
  process_id   int not null,
  started_at   timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp(),
  stopped_at   timestamptz,
  trouble      text, -- its present problem in a sentence: brokers that do not answer, an unknown topic
  handlers     int[] not null default '{}', -- ids of handlers that it ran at its last heartbeat
  registered   int[] not null default '{}', -- ids of handlers in its configuration, at its last registration
  topics       text[] not null default '{}', -- names and patterns of topics that it reads; empty: not known yet
  registered_at timestamptz, -- of the last registration
  -- of its handlers, by id: {"order": as handler.order_settings, "topics": […], "keys": {key: digest of its value}}
  settings     jsonb not null default '{}',
  activity     jsonb not null default '[]', -- figures of its handlers at its last heartbeat (inbox::HandlerActivity)
  history      bytea, -- figures of its last hour, once a minute (history::pack)
  boot         text, -- the kernel's boot and the network namespace in which it shows that it lives (base::Presence)
  member       text, -- its fixed member name of its group (kafka.instance_id)
  successor    uuid -- the process that has ended its leases (inbox.end_leases)
);

create table inbox.audit (
  audit_id    bigint generated always as identity primary key,
  occurred_at timestamptz not null default clock_timestamp(),
  actor       text not null,
  operation   text not null,
  target      text not null,
  detail      jsonb not null default '{}'
);

create index audit_note on inbox.audit (audit_id) where operation = 'dead note';

-- An event as an application's statements and functions see it. It only grows, at its end.
create type inbox.message as (
  event_id    uuid,
  source_id   text,
  topic       text,
  partition   int,
  "offset"    bigint,
  event_type  text,
  source      text,
  subject     text,
  key         text,
  payload     bytea,
  body        jsonb,
  headers     jsonb,
  occurred_at timestamptz,
  received_at timestamptz,
  attempt     int,
  key_bytes   bytea
);
