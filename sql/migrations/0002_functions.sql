-- The statements of the hot path that need several fresh snapshots in one round trip, and small readers of our own
-- encodings. Those that wait for rows of others do so for a bounded time (lock_timeout), also where a pooler lets
-- sessions begin with no settings. Functions, because libpqxx has no pipeline mode: measured as fast as a pipeline
-- (src/README.md).

-- How many offsets are in a set.
create function inbox.count_of(offsets int8multirange) returns int language sql immutable strict parallel safe as $$
  select coalesce(sum(upper(r) - lower(r)), 0)::int from unnest(offsets) r
$$;

-- The first n offsets of a set.
create function inbox.first_of(offsets int8multirange, n bigint) returns int8multirange
language plpgsql immutable strict parallel safe as $$
declare
  taken int8multirange := '{}';
  r int8range;
begin
  for r in select x from unnest(offsets) x order by lower(x) loop
    exit when n <= 0;
    taken := taken + int8multirange(int8range(lower(r), least(upper(r), lower(r) + n)));
    n := n - (upper(r) - lower(r));
  end loop;
  return taken;
end
$$;

-- Whether a name is in a list of exact names and prefixes (ending in *); an empty list takes all.
create function inbox.matches(name text, patterns text[]) returns boolean
language sql immutable parallel safe as $$
  select cardinality(patterns) = 0 or exists (
    select from unnest(patterns) p
    where case when right(p, 1) = '*' then starts_with(name, left(p, -1)) else name = p end)
$$;

-- Bytes as text where they are UTF-8 without a NUL, and null where not. Looked at before they are converted: to catch
-- the error takes a subtransaction, which no parallel plan allows. What needs no escape is ASCII, as nearly all is. Not
-- strict, so that it is inlined.
create function inbox.text_of(raw bytea) returns text language sql immutable parallel safe as $$
  select case when strpos(encode(raw, 'escape'), '\') = 0 then encode(raw, 'escape')
              when encode(raw, 'hex') ~ ('^(?:0[1-9a-f]|[1-7][0-9a-f]|(?:c[2-9a-f]|d[0-9a-f])[89ab][0-9a-f]'
                                         '|(?:e0[ab]|e[1-9abcef][89ab]|ed[89])[0-9a-f][89ab][0-9a-f]'
                                         '|(?:f0[9ab]|f[1-3][89ab]|f48)[0-9a-f][89ab][0-9a-f][89ab][0-9a-f])*$')
              then convert_from(raw, 'UTF8') end
$$;

-- Packed headers as a JSON object, the last of a name wins: a string, null, or {"base64": …} where it is no text. Of
-- more than 1000 headers only the first 1000. Put together once, at the end: by header it would take their square.
-- With its owner's rights: roles that handlers run under can name nothing of this schema.
create function inbox.headers_of(packed bytea) returns jsonb language plpgsql immutable strict parallel safe
security definer set search_path = pg_catalog as $$
declare
  most constant int := 1000;
  bytes constant bytea := packed || ''::bytea;  -- unpacked once, where it is stored compressed
  names text[] := '{}';
  texts text[] := '{}';
  raws bytea[] := '{}';  -- null where it is a text
  has_raw boolean := false;
  at int := 0;
  size int;
  raw bytea;
  name text;
  value text;
begin
  while at + 8 <= length(bytes) and cardinality(names) < most loop
    size := (get_byte(bytes, at) << 24) | (get_byte(bytes, at + 1) << 16) | (get_byte(bytes, at + 2) << 8)
            | get_byte(bytes, at + 3);
    exit when size < 0 or size > length(bytes) - at - 8;
    raw := substr(bytes, at + 5, size);
    name := coalesce(inbox.text_of(raw), 'base64:' || encode(raw, 'base64'));
    at := at + 4 + size;
    size := (get_byte(bytes, at) << 24) | (get_byte(bytes, at + 1) << 16) | (get_byte(bytes, at + 2) << 8)
            | get_byte(bytes, at + 3);
    exit when size > length(bytes) - at - 4;
    raw := case when size >= 0 then substr(bytes, at + 5, size) end;
    value := inbox.text_of(raw);
    if value is not null then
      raw := null;
    elsif raw is not null then
      has_raw := true;
    end if;
    names := names || name;
    texts := texts || value;
    raws := raws || raw;
    at := at + 4 + greatest(size, 0);
  end loop;
  if not has_raw then
    return jsonb_object(names, texts);
  end if;
  return (
    select jsonb_object_agg(x.name, case when x.raw is null then to_jsonb(x.value)
                                         else jsonb_build_object('base64', encode(x.raw, 'base64')) end order by x.i)
    from unnest(names, texts, raws) with ordinality x(name, value, raw, i));
end
$$;

-- What waits for others and then looks again (for handlers that were added, ids that were stored, days that are needed)
-- has to see what they committed meanwhile. Sessions begin their transactions so, except where a pooler keeps them from
-- saying it: refused, then.
create function inbox.need_fresh_snapshots() returns void language plpgsql as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'transactions begin as %; they have to begin as read committed: '
                    'alter role % set default_transaction_isolation = ''read committed''',
                    current_setting('transaction_isolation'), quote_ident(session_user)
      using errcode = 'invalid_transaction_state';
  end if;
end
$$;

-- Where ids are forgotten (trim_ledger) while they come again, some are known to one statement and not to the next.
-- What is new then, and what is owed, nobody can tell: the batch runs again, and sees them as new ones.
create function inbox.need_all_known(p_known bigint, p_all bigint) returns void language plpgsql as $$
begin
  if p_known < p_all then
    raise exception 'event ids were forgotten while they came again' using errcode = 'serialization_failure';
  end if;
end
$$;

-- Notes event ids (sorted) in the ledger, some of which may be there already; returns how many are new, and of the
-- others (lost) where they came from now and whether any of them is odd: another digest or another shard than the first
-- time. p_repeats: an id occurs twice in this batch.
-- The settings: plans are made while the tables are still small, and kept.
create function inbox.note_ids(
  p_now timestamptz, p_repeats boolean, l_id uuid[], l_shard int[], l_offset bigint[], l_digest bigint[],
  out stored int, out lost_shard int[], out lost_offset bigint[], out odd boolean)
language plpgsql set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  v_id uuid[];
  v_shard int[];
  v_digest bigint[];
begin
  stored := 0; lost_shard := '{}'; lost_offset := '{}'; odd := false;
  if not p_repeats then
    select array_agg(g.event_id order by g.event_id), array_agg(g.shard_id order by g.event_id),
           array_agg(g.digest order by g.event_id) into v_id, v_shard, v_digest
    from inbox.ledger g where g.event_id = any (l_id);
    if v_id = l_id and v_shard = l_shard and v_digest = l_digest then
      lost_shard := l_shard; lost_offset := l_offset;
      return;
    end if;
    begin
      insert into inbox.ledger (event_id, shard_id, "offset", digest, received_at)
      select l_id[i], l_shard[i], l_offset[i], l_digest[i], p_now
      from generate_series(1, cardinality(l_id)) i left join unnest(v_id) k(id) on k.id = l_id[i]
      where k.id is null;
      get diagnostics stored = row_count;
      select coalesce(array_agg(l.shard), '{}'), coalesce(array_agg(l."offset"), '{}'),
             coalesce(bool_or(l.digest <> k.digest or l.shard <> k.shard), false)
      into lost_shard, lost_offset, odd
      from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
      join unnest(v_id, v_shard, v_digest) k(id, shard, digest) on k.id = l.id;
      return;
    exception when unique_violation then
      stored := 0;  -- somebody was faster
    end;
  end if;
  insert into inbox.ledger (event_id, shard_id, "offset", digest, received_at)
  select l.*, p_now from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
  on conflict do nothing;
  get diagnostics stored = row_count;
  -- Ours are the rows that this transaction wrote (xmin) for this very place; the others were there before.
  select coalesce(array_agg(l.shard), '{}'), coalesce(array_agg(l."offset"), '{}'),
         coalesce(bool_or(g.digest <> l.digest or g.shard_id <> l.shard), false)
  into lost_shard, lost_offset, odd
  from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
  join inbox.ledger g on g.event_id = l.id
  where not (g.xmin = pg_current_xact_id()::xid and g.shard_id = l.shard and g."offset" = l."offset");
  perform inbox.need_all_known(stored + cardinality(lost_shard), cardinality(l_id));
end
$$;

-- One batch of records: position, ledger, events, deliveries and quarantine in one transaction, all of a shard or
-- nothing of it. Called in autocommit. Shards come sorted by id, ledger rows (l_) by event id, so that two instances
-- wait for each other in one order; events (e_) and runs (r_) in log order. A run's lease of 0 ms means: due now.
-- p_careful: duplicates are likely. p_repeats: an event id occurs twice.
--
-- Each statement counts, for small batches as for large ones, and planning one counts more (hence the setting: with
-- plans for the arrays at hand each call would make its own): what is only needed after a duplicate or a position
-- that does not match has statements of its own. Arrays are read by subscript, which is cheaper than unnest; of a
-- column that is null throughout an empty one will do.
--
-- status: stored, or routing (handlers have changed since the caller read them; nothing is written).
-- moved: the shards whose position matched. born: the delivery ids, one a run, null where nothing of the run was new;
-- born_pending: what is left of each run as text, joined by ';', null where no run lost anything.
create function inbox.ingest(
  p_owner uuid, p_fence bigint, p_routing_version bigint,
  s_shard int[], s_epoch int[], s_expected bigint[], s_next bigint[], s_leader_epoch int[],
  p_careful boolean, p_repeats boolean, l_id uuid[], l_shard int[], l_offset bigint[], l_digest bigint[],
  e_shard int[], e_offset bigint[], e_id uuid[], e_source_id text[], e_type text[], e_source text[], e_subject text[],
  e_key bytea[], e_payload bytea[], e_headers bytea[], e_occurred_at timestamptz[], e_kafka_timestamp timestamptz[],
  r_handler int[], r_shard int[], r_pending text[], r_events int[], r_lease int[],
  q_shard int[], q_offset bigint[], q_reason text[], q_detail text[], q_key bytea[], q_payload bytea[],
  q_size bigint[], q_digest bigint[], q_headers bytea[], q_kafka_timestamp timestamptz[],
  out status text, out moved int[], out born bigint[], out born_pending text, out stored int, out duplicates int,
  out conflicts int, out received_at bigint)
language plpgsql set enable_seqscan = off set plan_cache_mode = force_generic_plan set lock_timeout = '10s' as $$
declare
  v_all boolean;
  v_now timestamptz;
  v_slow boolean := p_careful or p_repeats;
  v_odd boolean;
  v_lost_shard int[] := '{}';
  v_lost_offset bigint[] := '{}';
  v_gone boolean[];  -- for each event whether it is left out; null: none is
begin
  perform inbox.need_fresh_snapshots();
  stored := 0; duplicates := 0; conflicts := 0; received_at := 0;
  -- Held to the end: a handler that is added meanwhile waits, and so knows for certain what was routed without it.
  perform pg_advisory_xact_lock_shared(1768841848, 'inbox.routing'::regclass::oid::int);
  if (select version from inbox.routing where only_row) <> p_routing_version then
    status := 'routing';
    return;
  end if;
  status := 'stored';

  insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version, leader_epoch)
  select s.shard, s.epoch, s.expected, s.next, p_routing_version, s.leader
  from unnest(s_shard, s_epoch, s_expected, s_next, s_leader_epoch) s(shard, epoch, expected, next, leader)
  cross join lateral (
    select p.epoch, p.next_offset from inbox.position p
    where p.shard_id = s.shard order by p.epoch desc, p.first_offset desc limit 1) newest
  where newest.epoch = s.epoch and newest.next_offset = s.expected
  on conflict do nothing;
  get diagnostics stored = row_count;
  v_all := stored = cardinality(s_shard);
  stored := 0;
  if v_all then
    moved := s_shard;
  else
    -- Ours are the rows that this transaction wrote.
    select coalesce(array_agg(s.shard), '{}') into moved
    from unnest(s_shard, s_epoch, s_expected) s(shard, epoch, expected)
    join inbox.position p on p.shard_id = s.shard and p.epoch = s.epoch and p.first_offset = s.expected
    where p.xmin = pg_current_xact_id()::xid;
    if cardinality(moved) = 0 then
      -- Perhaps stored by a try of which nobody knows, whose COMMIT was kept from waiting for a synchronous standby. A
      -- transaction that writes nothing would not wait for it either, and the offset would be told to Kafka.
      perform pg_logical_emit_message(true, 'inboxd', '');
      return;
    end if;
    select coalesce(array_agg(l.id order by l.i), '{}'), coalesce(array_agg(l.shard order by l.i), '{}'),
           coalesce(array_agg(l."offset" order by l.i), '{}'), coalesce(array_agg(l.digest order by l.i), '{}')
    into l_id, l_shard, l_offset, l_digest
    from unnest(l_id, l_shard, l_offset, l_digest) with ordinality l(id, shard, "offset", digest, i)
    where l.shard = any (moved);
  end if;

  v_now := clock_timestamp();
  received_at := (extract(epoch from v_now) * 1000000)::bigint;
  if not v_slow then
    -- A plain INSERT costs little more than half of one with ON CONFLICT; a duplicate ends the attempt.
    begin
      insert into inbox.ledger (event_id, shard_id, "offset", digest, received_at)
      select l_id[i], l_shard[i], l_offset[i], l_digest[i], v_now from generate_series(1, cardinality(l_id)) i;
      get diagnostics stored = row_count;
    exception when unique_violation then
      v_slow := true;
    end;
  end if;
  if v_slow then
    select n.stored, n.lost_shard, n.lost_offset, n.odd into stored, v_lost_shard, v_lost_offset, v_odd
    from inbox.note_ids(v_now, p_repeats, l_id, l_shard, l_offset, l_digest) n;
    duplicates := cardinality(l_id) - stored;
    if v_odd then
      conflicts := inbox.absorb(p_routing_version, l_id, l_shard, l_offset, l_digest,
                                e_shard, e_offset, e_source_id, e_type, e_source, e_subject, e_key, e_payload,
                                e_headers, e_occurred_at, e_kafka_timestamp);
    end if;
  end if;

  if stored > 0 then
    if duplicates > 0 or not v_all then
      select array_agg(x.shard is not null or not e.shard = any (moved) order by e.i) into v_gone
      from unnest(e_shard, e_offset) with ordinality e(shard, "offset", i)
      left join unnest(v_lost_shard, v_lost_offset) x(shard, "offset")
        on x.shard = e.shard and x."offset" = e."offset";
    end if;
    insert into inbox.event (shard_id, "offset", event_id, source_id, event_type, source, subject, key, payload,
                             headers, occurred_at, kafka_timestamp, received_at)
    select e_shard[i], e_offset[i], e_id[i], e_source_id[i], e_type[i], e_source[i], e_subject[i], e_key[i],
           e_payload[i], e_headers[i], e_occurred_at[i], e_kafka_timestamp[i], v_now
    from generate_series(1, cardinality(e_shard)) i
    where v_gone is null or not v_gone[i];
  end if;

  if cardinality(r_handler) > 0 and stored > 0 and v_gone is null then
    select array_agg(nextval('inbox.delivery_delivery_id_seq')) into born
    from generate_series(1, cardinality(r_handler));
    insert into inbox.delivery (delivery_id, handler_id, shard_id, pending, events, claims, fence, owner, due_at,
                                received_from, received_to)
    select born[i], r_handler[i], r_shard[i], r_pending[i]::int8multirange, r_events[i], (r_lease[i] > 0)::int,
           case when r_lease[i] > 0 then p_fence else 0 end, case when r_lease[i] > 0 then p_owner end,
           clock_timestamp() + r_lease[i] * interval '1 ms', v_now, v_now
    from generate_series(1, cardinality(r_handler)) i;
  elsif cardinality(r_handler) > 0 and stored > 0 then
    with run as (
      select r.*, r.pending_text::int8multirange - lost.offsets as pending
      from unnest(r_handler, r_shard, r_pending, r_lease)
           with ordinality r(handler, shard, pending_text, lease, ordinal)
      left join lateral (
        select coalesce(range_agg(int8range(x."offset", x."offset" + 1)), '{}') as offsets
        from unnest(v_lost_shard, v_lost_offset) x(shard, "offset") where x.shard = r.shard) lost on true
      where r.shard = any (moved)),
    kept as materialized (
      select run.*, nextval('inbox.delivery_delivery_id_seq') as id
      from run where not isempty(run.pending)),
    inserted as (
      insert into inbox.delivery (delivery_id, handler_id, shard_id, pending, events, claims, fence, owner, due_at,
                                  received_from, received_to)
      select id, handler, shard, pending, inbox.count_of(pending), (lease > 0)::int,
             case when lease > 0 then p_fence else 0 end, case when lease > 0 then p_owner end,
             clock_timestamp() + lease * interval '1 ms', v_now, v_now
      from kept)
    select array_agg(k.id order by o.ordinal),
           case when duplicates > 0 then string_agg(coalesce(k.pending::text, ''), ';' order by o.ordinal) end
    into born, born_pending
    from generate_series(1, cardinality(r_handler)) o(ordinal) left join kept k on k.ordinal = o.ordinal;
  end if;

  if cardinality(q_shard) > 0 then
    insert into inbox.quarantine (shard_id, "offset", reason, detail, key, payload, payload_size, digest, headers,
                                  kafka_timestamp)
    select q.* from unnest(q_shard, q_offset, q_reason, q_detail, q_key, q_payload, q_size, q_digest, q_headers,
                           q_kafka_timestamp)
         q(shard, "offset", reason, detail, key, payload, size, digest, headers, kafka)
    where v_all or q.shard = any (moved);
  end if;
  duplicates := duplicates - conflicts;  -- each is counted once
end
$$;

-- Whether a handler subscribed to that topic and type under a routing version, or at that time: versions follow the
-- clock. Before it was there it is taken as it was at first; null: as it is now.
create function inbox.was_subscribed(p_handler inbox.handler, p_version bigint, p_topic text, p_type text)
returns boolean language sql stable as $$
  select inbox.matches(p_topic, s.topics) and inbox.matches(p_type, s.types)
  from (
    select f.topics, f.types, f.until from inbox.former_subscription f
    where f.handler_id = p_handler.handler_id and f.until > p_version
    union all
    select p_handler.topics, p_handler.types, 9223372036854775807) s
  order by s.until limit 1
$$;

-- What duplicates bring beside their being dropped: a record with the same id and another digest goes to quarantine
-- as a conflict, and handlers that subscribe to the topic it came from now, and to none of the others when it came from
-- those, are owed the event, once: nor is it owed to who has it by a replay (carried_over), and a dead letter that the
-- handler has of it still is one of a former life and answered by that, as in inbox.backfill_bite. Where its day was
-- dropped, the ledger remembering longer, the record at hand is the event, with the same key and payload: restored.
-- Returns the number of conflicts.
create function inbox.absorb(
  p_routing_version bigint,
  l_id uuid[], l_shard int[], l_offset bigint[], l_digest bigint[],
  e_shard int[], e_offset bigint[], e_source_id text[], e_type text[], e_source text[], e_subject text[],
  e_key bytea[], e_payload bytea[], e_headers bytea[], e_occurred_at timestamptz[], e_kafka_timestamp timestamptz[])
returns int
language plpgsql set enable_seqscan = off set jit = off as $$
declare
  v_conflicts int;
  v_locked bigint;
  v_known bigint;
  v_odd bigint;
  v_elsewhere boolean;
begin
  -- One at a time for each id, so that two more topics that bring it at the same moment owe it once; and none is
  -- forgotten any more from here on.
  select count(*) into v_locked
  from (
    select 1
    from unnest(l_id, l_shard, l_digest) l(id, shard, digest)
    join inbox.ledger g on g.event_id = l.id
    join inbox.shard here on here.shard_id = l.shard
    join inbox.shard first on first.shard_id = g.shard_id
    where here.topic <> first.topic or g.digest <> l.digest
    order by g.event_id for no key update of g) x;
  -- Seen behind the locks: one that was forgotten before, and one that somebody else has stored anew since.
  select count(*), count(*) filter (where here.topic <> first.topic or g.digest <> l.digest),
         coalesce(bool_or(here.topic <> first.topic), false)
  into v_known, v_odd, v_elsewhere
  from unnest(l_id, l_shard, l_digest) l(id, shard, digest)
  join inbox.ledger g on g.event_id = l.id
  join inbox.shard here on here.shard_id = l.shard
  join inbox.shard first on first.shard_id = g.shard_id;
  perform inbox.need_all_known(v_known, cardinality(l_id)), inbox.need_all_known(v_locked, v_odd);

  with conflict as (
    select l.id, l.shard, l."offset", l.digest
    from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
    join inbox.ledger g on g.event_id = l.id
    where g.digest <> l.digest)
  insert into inbox.quarantine (shard_id, "offset", reason, detail, event_id, key, payload, payload_size, digest,
                                headers, kafka_timestamp)
  select c.shard, c."offset", 'conflict', 'the same event id came before with another key or payload', c.id,
         e.key, e.payload, coalesce(length(e.payload), 0), c.digest, e.headers, e.kafka
  from conflict c
  join unnest(e_shard, e_offset, e_key, e_payload, e_headers, e_kafka_timestamp)
       e(shard, "offset", key, payload, headers, kafka) on e.shard = c.shard and e."offset" = c."offset";
  get diagnostics v_conflicts = row_count;

  if not v_elsewhere then
    return v_conflicts;
  end if;
  -- Who restores the same event at this moment is a replay of its dead letter (op_dead_lock).
  perform pg_advisory_xact_lock_shared(1768841850, 'inbox.dead_letter'::regclass::oid::int);
  -- Reads the events, and so holds back whoever drops a day (inbox.drop_partition) until the deliveries can be seen.
  with arrived as (
    select distinct on (l.id, here.topic) l.id, here.topic, first.topic as first_topic, g.shard_id, g."offset", e.type,
           l.shard as here_shard, l."offset" as here_offset, g.received_at as first_at,
           g.xmin = pg_current_xact_id()::xid as is_of_this_batch
    from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
    join inbox.ledger g on g.event_id = l.id and g.digest = l.digest
    join inbox.shard here on here.shard_id = l.shard
    join inbox.shard first on first.shard_id = g.shard_id
    join unnest(e_shard, e_offset, e_type) e(shard, "offset", type) on e.shard = l.shard and e."offset" = l."offset"
    where here.topic <> first.topic
    order by l.id, here.topic, l.shard, l."offset"),
  -- As it came first. Where this batch brings both, its events are inserted behind this; where it was restored it is on
  -- another day; where it is gone it is taken for one of the same type, as an id means the same event.
  elsewhere as materialized (
    select a.*, s.received_at, coalesce(
             b.type, s.event_type,
             (select r.event_type from inbox.event r
              where r.shard_id = a.shard_id and r."offset" = a."offset" and r.event_id = a.id limit 1),
             a.type) as first_type,
           case when a.is_of_this_batch then p_routing_version
                else (extract(epoch from a.first_at) * 1000000)::bigint end as first_version
    from arrived a
    left join unnest(e_shard, e_offset, e_type) b(shard, "offset", type)
      on a.is_of_this_batch and b.shard = a.shard_id and b."offset" = a."offset"
    left join lateral (
      select e.received_at, e.event_type from inbox.event e
      where not a.is_of_this_batch and e.shard_id = a.shard_id and e."offset" = a."offset" and e.event_id = a.id
        and e.received_at = a.first_at limit 1) s on true),
  noted as (
    insert into inbox.also_seen (event_id, topic, event_type, shard_id, "offset", routing_version)
    select id, topic, type, shard_id, "offset", p_routing_version from elsewhere
    on conflict do nothing returning event_id, topic),
  owed as materialized (
    select distinct on (h.handler_id, x.id) h.handler_id, x.*
    from noted n
    join elsewhere x on x.id = n.event_id and x.topic = n.topic
    join inbox.handler h on h.retired_at is null and inbox.matches(x.topic, h.topics) and inbox.matches(x.type, h.types)
    where not inbox.was_subscribed(h, x.first_version, x.first_topic, x.first_type)
      and not exists (
        select from inbox.carried_over c where c.event_id = x.id and c.handler_id = h.handler_id)
      -- A third topic of the same handler may have brought it already.
      and not exists (
        select from inbox.also_seen s
        where s.event_id = x.id and s.topic <> x.topic
          and inbox.was_subscribed(h, s.routing_version, s.topic, s.event_type))),
  -- On another day where it was restored since. No time: it is gone.
  stored as materialized (
    select o.id, o.shard_id, o."offset", o.here_shard, o.here_offset, coalesce(
             o.received_at,
             (select max(e.received_at) from inbox.event e
              where e.shard_id = o.shard_id and e."offset" = o."offset" and e.event_id = o.id)) as received_at
    from (select distinct on (id) * from owed where not is_of_this_batch) o),
  moment as materialized (select clock_timestamp() as now),
  restored as (
    insert into inbox.event (shard_id, "offset", event_id, source_id, event_type, source, subject, key, payload,
                             headers, occurred_at, kafka_timestamp, received_at)
    select s.shard_id, s."offset", s.id, e.source_id, e.type, e.source, e.subject, e.key, e.payload, e.headers,
           e.occurred, e.kafka, m.now
    from stored s
    join unnest(e_shard, e_offset, e_source_id, e_type, e_source, e_subject, e_key, e_payload, e_headers,
                e_occurred_at, e_kafka_timestamp)
         e(shard, "offset", source_id, type, source, subject, key, payload, headers, occurred, kafka)
      on e.shard = s.here_shard and e."offset" = s.here_offset
    cross join moment m
    where s.received_at is null),
  answered as (
    delete from inbox.dead_letter x using owed o
    where x.handler_id = o.handler_id and x.shard_id = o.shard_id and x."offset" = o."offset")
  insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, received_to)
  select o.handler_id, o.shard_id, int8multirange(int8range(o."offset", o."offset" + 1)), 1, clock_timestamp(),
         stored_at, stored_at
  from owed o left join stored s using (id) cross join moment m
  cross join lateral (
    select case when s.id is null then o.first_at else coalesce(s.received_at, m.now) end as stored_at) t;
  return v_conflicts;
end
$$;

-- Takes due deliveries of one handler, oldest first, at most p_rows rows and p_events events: a new fence, claims + 1.
-- The last one is split where it holds more than is wanted; so is one that was found after an unclean end: in halves,
-- then singly, so that a crash is charged to the event that caused it. One that was found so for the third time is a
-- suspect and taken alone: what is only near a culprit gets its turn before it is blamed, too. An owner that has a
-- suspect in hand, of whatever handler, says p_to = 2. p_from and p_to are how often a row may have been claimed
-- before: those with other numbers are passed over and do not count as looked at. p_low is a time before which nothing
-- can be due. Without bitmaps and whole readings the planner walks delivery_due and stops at p_rows, whatever it
-- believes: with statistics, or a plan, from before a backlog it would fetch and sort all of that for each bite.
create function inbox.claim(
  p_handler int, p_owner uuid, p_fence bigint, p_lease interval, p_events bigint, p_rows int, p_low timestamptz,
  p_from int default 0, p_to int default 2147483647)
returns table (delivery_id bigint, shard_id int, pending text, events int, attempts int, claims int,
               received_from bigint, received_to bigint, locked int)
language plpgsql set lock_timeout = '10s' set enable_bitmapscan = off
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
begin
  return query
  with due as materialized (
    select d.* from inbox.delivery d
    where d.handler_id = p_handler and d.due_at <= v_now and d.due_at >= p_low
      and d.claims >= p_from and d.claims <= p_to
    order by d.due_at limit p_rows for update skip locked),
  first_due as (
    select delivery_id, claims from due order by due_at, delivery_id limit 1),
  alone as (
    select f.delivery_id from first_due f where f.claims >= 3),
  counted as (
    select due.*, share, sum(share) over (order by due_at, delivery_id) - share as before
    from due cross join lateral (select greatest(1, ceil(events / power(2, least(claims, 20))))::bigint as share) s
    where case when exists (select from alone) then due.delivery_id = (select a.delivery_id from alone a)
               else claims < 3 end),
  taken as (
    select counted.*, least(share, p_events - before)::bigint as n, (select count(*) from due) as locked
    from counted where before < p_events),
  rest as (
    insert into inbox.delivery (handler_id, shard_id, pending, events, lane, attempts, claims, due_at, expires_at,
                                received_from, received_to, last_error)
    select handler_id, shard_id, pending - inbox.first_of(pending, n), events - n, lane, attempts, claims, due_at,
           expires_at, received_from, received_to, last_error
    from taken where n < events and n < inbox.count_of(pending))
  update inbox.delivery d
  set owner = p_owner, fence = p_fence, claims = t.claims + 1, due_at = clock_timestamp() + p_lease,
      pending = case when t.n < t.events then inbox.first_of(t.pending, t.n) else t.pending end,
      events = least(t.n, t.events)
  from taken t
  where d.delivery_id = t.delivery_id
    -- Says the same again so that the rows are looked up by their ids: where vacuum has seen only dead rows, the
    -- planner would otherwise walk over all of them.
    and d.delivery_id = any (array(select taken.delivery_id from taken))
  returning d.delivery_id, d.shard_id, d.pending::text, d.events, d.attempts, d.claims,
            case when isfinite(d.received_from) then (extract(epoch from d.received_from) * 1000000)::bigint end,
            case when isfinite(d.received_to) then (extract(epoch from d.received_to) * 1000000)::bigint end,
            t.locked::int;
end
$$;

-- `= any (ids)` beside a join on the same id: see inbox.claim.
-- Records what handlers said, guarded by id, fence, owner and pending @> settled: a delivery whose lease was lost
-- changes nothing. d_: deliveries with all offsets that leave them now, and those of them that are done. The others
-- say by a subscript of d_ (of) whose they are, so that one call may name a delivery under an old fence, too; twice
-- under the same one it must not: an update applies but one of two rows that it is joined to. g_:
-- offsets that failed alike and are tried again together. f_: one row for each failed attempt. x_: offsets that are
-- dead. Returns the subscripts of the deliveries that were settled; the others' leases were lost. A plan that was made
-- while few deliveries were owed is kept, hence none that reads them all.
create function inbox.settle(
  p_owner uuid, d_id bigint[], d_fence bigint[], d_settled text[], d_done text[],
  g_of int[], g_offsets text[], g_delay bigint[], g_error text[],
  f_of int[], f_event uuid[], f_attempt int[], f_class text[], f_message text[], f_duration bigint[],
  x_of int[], x_offset bigint[], x_event uuid[])
returns int[]
language plpgsql set lock_timeout = '10s' set enable_seqscan = off as $$
declare
  v_of int[];
  v_ids bigint[];
begin
  if (select count(*) from (select distinct id, fence from unnest(d_id, d_fence) s(id, fence)) t) <> cardinality(d_id)
  then
    raise exception 'a delivery is settled twice in one call' using errcode = 'invalid_parameter_value';
  end if;
  select coalesce(array_agg(t.i), '{}'), coalesce(array_agg(t.delivery_id), '{}') into v_of, v_ids from (
    select s.i, d.delivery_id
    from unnest(d_id, d_fence, d_settled) with ordinality s(id, fence, settled, i)
    join inbox.delivery d on d.delivery_id = s.id
    where d.delivery_id = any (d_id) and d.fence = s.fence and d.owner = p_owner
      and d.pending @> s.settled::int8multirange
    order by d.delivery_id for update of d) t;

  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
  select d.handler_id, d.shard_id, s.done::int8multirange, 'done', d.attempts + 1, p_owner
  from unnest(d_id, d_fence, d_done) s(id, fence, done)
  join inbox.delivery d on d.delivery_id = s.id and d.fence = s.fence
  where d.delivery_id = any (v_ids) and s.done <> '{}';

  insert into inbox.delivery (handler_id, shard_id, pending, events, lane, attempts, due_at, expires_at, received_from,
                              received_to, last_error)
  select d.handler_id, d.shard_id, g.offsets::int8multirange, inbox.count_of(g.offsets::int8multirange), d.lane,
         d.attempts + 1, clock_timestamp() + g.delay * interval '1 ms', d.expires_at, d.received_from, d.received_to,
         g.error
  from unnest(g_of, g_offsets, g_delay, g_error) g(i, offsets, delay, error)
  join inbox.delivery d on d.delivery_id = d_id[g.i] and d.fence = d_fence[g.i]
  where d.delivery_id = any (v_ids);

  insert into inbox.failure (event_id, handler_id, attempt, error_class, message, duration)
  select f.event, d.handler_id, f.attempt, f.class, f.message, f.duration * interval '1 ms'
  from unnest(f_of, f_event, f_attempt, f_class, f_message, f_duration) f(i, event, attempt, class, message, duration)
  join inbox.delivery d on d.delivery_id = d_id[f.i] and d.fence = d_fence[f.i]
  where d.delivery_id = any (v_ids);

  if cardinality(x_of) > 0 then
    perform inbox.bury(v_ids, array_agg(d.delivery_id), array_agg(x."offset"), array_agg(x.event))
    from unnest(x_of, x_offset, x_event) x(i, "offset", event)
    join inbox.delivery d on d.delivery_id = d_id[x.i] and d.fence = d_fence[x.i]
    where d.delivery_id = any (v_ids);
  end if;

  delete from inbox.delivery d using unnest(d_id, d_fence, d_settled) s(id, fence, settled)
  where d.delivery_id = s.id and d.fence = s.fence and d.delivery_id = any (v_ids)
    and isempty(d.pending - s.settled::int8multirange);
  update inbox.delivery d
  set pending = d.pending - s.settled::int8multirange, events = inbox.count_of(d.pending - s.settled::int8multirange)
  from unnest(d_id, d_fence, d_settled) s(id, fence, settled)
  where d.delivery_id = s.id and d.fence = s.fence and d.delivery_id = any (v_ids);
  return v_of;
end
$$;

-- Moves offsets of deliveries (which the caller has locked) to dead letters, with a full copy of the event and the
-- reasons of every attempt, and records the outcome. Each event is looked up by itself (offset 0 keeps the planner from
-- joining otherwise), so that only the days are read that its delivery was received in.
create function inbox.bury(p_ids bigint[], x_id bigint[], x_offset bigint[], x_event uuid[]) returns void
language plpgsql as $$
begin
  insert into inbox.dead_letter (handler_id, event_id, shard_id, "offset", source_id, event_type, source, subject, key,
                                 payload, headers, occurred_at, kafka_timestamp, received_at, attempts, reasons)
  select d.handler_id, x.event, d.shard_id, x."offset", e.source_id, e.event_type, e.source, e.subject, e.key,
         e.payload, e.headers, e.occurred_at, e.kafka_timestamp, e.received_at, d.attempts + 1,
         coalesce((select jsonb_agg(jsonb_build_object('attempt', f.attempt, 'occurred_at', f.occurred_at,
                                                       'error_class', f.error_class, 'message', f.message)
                                    order by f.occurred_at)
                   from inbox.failure f where f.event_id = x.event and f.handler_id = d.handler_id), '[]')
  from unnest(x_id, x_offset, x_event) x(id, "offset", event)
  join inbox.delivery d on d.delivery_id = x.id
  cross join lateral (
    select e.* from inbox.event e
    where e.shard_id = d.shard_id and e."offset" = x."offset" and e.event_id = x.event
      and e.received_at >= d.received_from and e.received_at <= d.received_to
    offset 0) e
  where d.delivery_id = any (p_ids)
  on conflict (handler_id, shard_id, "offset") do update
  set attempts = excluded.attempts, reasons = excluded.reasons, state = 'dead', died_at = clock_timestamp();

  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
  select d.handler_id, d.shard_id, range_agg(int8range(x."offset", x."offset" + 1)), 'dead', d.attempts + 1, d.owner
  from unnest(x_id, x_offset) x(id, "offset") join inbox.delivery d on d.delivery_id = x.id
  where d.delivery_id = any (p_ids)
  group by d.delivery_id;
end
$$;

-- Day partitions from yesterday to p_days ahead, for the tables that have them. Returns how many were made. Owned by
-- the owner of the schema, so that the daemon's roles need no right to create tables.
create function inbox.make_partitions(p_days int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  v_made int := 0;
  v_table text;
  v_day date;
  v_name text;
begin
  if p_days is null or p_days not between 0 and 400 then
    raise exception 'no number of days from 0 to 400: %', p_days using errcode = 'invalid_parameter_value';
  end if;
  -- One maker at a time, for this transaction only (works behind a transaction pooler).
  perform pg_advisory_xact_lock(1768841849, 'inbox.routing'::regclass::oid::int);
  foreach v_table in array array['event', 'outcome', 'failure'] loop
    for v_day in select d::date from generate_series(current_date - 1, current_date + p_days, interval '1 day') d loop
      v_name := v_table || '_' || to_char(v_day, 'YYYYMMDD');
      if to_regclass(format('inbox.%I', v_name)) is null then
        -- Made apart and attached: that takes a lock beside which the table can be read and written.
        execute format('create table inbox.%I (like inbox.%I including defaults including constraints)', v_name,
                       v_table);
        execute format('alter table inbox.%I attach partition inbox.%I for values from (%L) to (%L)', v_table, v_name,
                       v_day::timestamptz, (v_day + 1)::timestamptz);
        v_made := v_made + 1;
      end if;
    end loop;
  end loop;
  return v_made;
end
$$;

-- One bite of owed history: the next p_events events of one range become deliveries, due now, of no wider a span than
-- the views look for (10000). What came on another topic, of a shard whose topic is none of the handler's or as a type
-- that is none of its, is owed where it came on one of its topics, too, as one of its types, before the handler was
-- routed to: what comes since is owed by inbox.absorb. All that by what the handler subscribed to when it was new: a
-- change since then is about what is stored since then. A dead letter of the handler's former life (one that was
-- retired and is there again) is answered by its event being owed: it goes, or a replay would give the event a second
-- time. Returns how many events became deliveries, and of how many a letter went; null when nothing is left (or others
-- are at it).
create function inbox.backfill_bite(p_events int, p_bytes bigint, out owed_events bigint, out answered_letters bigint)
language plpgsql as $$
declare
  b record;
  v_seen bigint;
  v_last bigint;
begin
  select f.*, coalesce(s.topics, h.topics) as topics, coalesce(s.types, h.types) as types, h.routing_version into b
  from inbox.backfill f join inbox.handler h using (handler_id)
  left join lateral (
    select x.topics, x.types from inbox.former_subscription x
    where x.handler_id = h.handler_id and x.until > h.routing_version order by x.until limit 1) s on true
  order by f.handler_id, f.shard_id limit 1 for update of f skip locked;
  if not found then
    return;
  end if;
  with near as (
    select e."offset", e.event_id, e.event_type, e.received_at, coalesce(octet_length(e.payload), 0) as size
    from inbox.event e
    where e.shard_id = b.shard_id and e."offset" >= b.next_offset and e."offset" < b.end_offset
    order by e."offset" limit p_events),
  bite as materialized (
    select * from (
      select near.*, sum(size) over (order by "offset") - size as before, min("offset") over () as first from near) x
    where before < p_bytes and "offset" < first + 10000),
  owed as (
    select range_agg(int8range("offset", "offset" + 1)) as pending, min(received_at) as received_from,
           max(received_at) as received_to
    from bite
    where case when b.elsewhere or not inbox.matches(event_type, b.types) then exists (
            select from inbox.also_seen s
            where s.event_id = bite.event_id and s.routing_version < b.routing_version
              and inbox.matches(s.topic, b.topics) and inbox.matches(s.event_type, b.types)
              and (b.from_time is null or s.seen_at >= b.from_time))
          else b.from_time is null or received_at >= b.from_time end),
  born as (
    insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, received_to)
    select b.handler_id, b.shard_id, pending, inbox.count_of(pending), clock_timestamp(), received_from, received_to
    from owed where pending is not null),
  answered as (
    delete from inbox.dead_letter x using owed o
    where x.handler_id = b.handler_id and x.shard_id = b.shard_id and x."offset" >= lower(o.pending)
      and x."offset" < upper(o.pending) and o.pending @> x."offset"
    returning 1)
  select count(*), max("offset"), coalesce((select inbox.count_of(pending) from owed), 0),
         (select count(*) from answered)
  into v_seen, v_last, owed_events, answered_letters
  from bite;
  if v_seen = 0 or v_last + 1 >= b.end_offset then
    delete from inbox.backfill where handler_id = b.handler_id and shard_id = b.shard_id;
  else
    update inbox.backfill set next_offset = v_last + 1 where handler_id = b.handler_id and shard_id = b.shard_id;
  end if;
end
$$;

-- A bite of the ledger, that many blocks of it, of what is older than it is kept; with what is known of those ids
-- beside: an id that comes again is a new event on each of its topics. What handlers subscribed to once decides nothing
-- then (but for history that they are still owed), and goes when a walk has ended behind it, with two days for what
-- was locked. Read by place, once a day, by
-- whoever takes the next bite. Who keeps more than the walk is for leaves it to others, or to a later day; one that
-- nobody has gone on with for a day (all keep more by now), and one that was noted by a clock that was wrong, begin
-- anew. Returns how many went, whether there is more to walk, and whether this was a bite at all. First locks, then
-- deletes: what came on another topic up to the lock is seen behind it, and who comes later finds the id gone.
create function inbox.trim_ledger(p_keep interval, p_blocks bigint, out gone bigint, out has_more boolean,
                                  out is_bite boolean)
language plpgsql set enable_seqscan = off set jit = off set timezone = 'UTC' as $$
declare
  v_turn inbox.ledger_trim;
  v_now timestamptz := statement_timestamp();
  v_since date := (v_now - p_keep)::date;
  v_before timestamptz;
  v_next bigint;
  v_rows tid[];
  v_ids uuid[];
begin
  perform inbox.need_fresh_snapshots();
  gone := 0; has_more := false; is_bite := false;
  delete from inbox.former_subscription f using inbox.ledger_trim t
  where t.only_row and t.next_block is null and to_timestamp(f.until / 1000000.0) < (t.day - 2)::timestamptz
    and not exists (select from inbox.backfill b where b.handler_id = f.handler_id);

  select t.* into v_turn from inbox.ledger_trim t
  where t.only_row
    and (t.day > v_now::date + 1
         or case when t.next_block is null then t.day < v_since
                 else t.day <= v_since
                      or t.moved_at not between v_now - interval '1 day' and v_now + interval '1 day' end)
  for update skip locked;
  if not found then
    return;
  end if;
  if v_turn.next_block is null or v_turn.day > v_since then
    v_turn.day := v_since;
    v_turn.next_block := 0;
  end if;
  v_next := v_turn.next_block + p_blocks;
  v_before := v_turn.day::timestamptz;

  select coalesce(array_agg(o.place), '{}'), coalesce(array_agg(o.event_id), '{}') into v_rows, v_ids
  from (
    select l.ctid as place, l.event_id from inbox.ledger l
    where l.ctid >= format('(%s,0)', v_turn.next_block)::tid and l.ctid < format('(%s,0)', v_next)::tid
      and l.received_at < v_before
    for update skip locked) o;
  delete from inbox.also_seen s where s.event_id = any (v_ids);
  delete from inbox.carried_over c where c.event_id = any (v_ids);
  delete from inbox.ledger l where l.ctid = any (v_rows);
  get diagnostics gone = row_count;

  has_more := v_next < pg_relation_size('inbox.ledger') / current_setting('block_size')::int;
  is_bite := true;
  update inbox.ledger_trim t
  set day = v_turn.day, next_block = case when has_more then v_next end, moved_at = clock_timestamp()
  where t.only_row;
end
$$;

-- Whether somebody still needs events of the day that ends then: deliveries that wait for them, and history that is
-- still being turned into deliveries.
create function inbox.is_day_needed(p_end timestamptz) returns boolean language sql stable as $$
  select exists (select from inbox.backfill)
      or exists (
        select from inbox.delivery d where d.received_from < p_end and d.received_to >= p_end - interval '1 day')
$$;

-- The oldest day partition of a table that is older than p_keep, and than a day (yesterday's is made again otherwise),
-- and that nothing needs any more, or null. Takes no locks, however long it looks.
create function inbox.day_to_drop(p_table text, p_keep interval) returns text
language plpgsql stable set timezone = 'UTC' as $$
declare
  v_name text;
  v_end timestamptz;
begin
  if p_table is null or p_table not in ('event', 'outcome', 'failure') or p_keep is null or p_keep < interval '0' then
    raise exception 'no table of days, or no time to keep it: %, %', p_table, p_keep
      using errcode = 'invalid_parameter_value';
  end if;
  for v_name, v_end in
    select c.relname, to_date(right(c.relname, 8), 'YYYYMMDD') + 1
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = format('inbox.%I', p_table)::regclass and c.relname ~ ('^' || p_table || '_[0-9]{8}$')
    order by c.relname
  loop
    exit when v_end > clock_timestamp() - greatest(p_keep, interval '1 day');
    if p_table <> 'event' or not inbox.is_day_needed(v_end) then
      return v_name;
    end if;
  end loop;
  return null;
end
$$;

-- Drops that day; returns its name, or null where it is needed again. What is needed is looked for once more behind the
-- locks, when nobody can add to it: the caller limits how long that may take (statement_timeout). The partitioned table
-- is locked first, as by everybody who reads or writes a day of it.
create function inbox.drop_partition(p_table text, p_keep interval, p_day text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' as $$
declare
  v_end timestamptz;
begin
  if p_table is null or p_table not in ('event', 'outcome', 'failure') or p_keep is null or p_keep < interval '0'
     or p_day is null or p_day !~ ('^' || p_table || '_[0-9]{8}$') then
    raise exception 'no day of a table of days, or no time to keep it: %, %, %', p_table, p_day, p_keep
      using errcode = 'invalid_parameter_value';
  end if;
  perform inbox.need_fresh_snapshots();
  v_end := to_date(right(p_day, 8), 'YYYYMMDD') + 1;
  if v_end > clock_timestamp() - greatest(p_keep, interval '1 day') then
    return null;
  end if;
  execute format('lock table only inbox.%I in access exclusive mode', p_table);
  if to_regclass(format('inbox.%I', p_day)) is null then
    return null;  -- another instance was faster
  end if;
  execute format('lock table inbox.%I in access exclusive mode', p_day);
  if p_table = 'event' and inbox.is_day_needed(v_end) then
    return null;
  end if;
  execute format('drop table inbox.%I', p_day);
  return p_day;
end
$$;

-- They do what their owner may: for those alone whom roles.sql names.
revoke all on function inbox.make_partitions(int), inbox.drop_partition(text, interval, text) from public;
