-- Stores a batch of records in a single transaction: position, ledger, events, deliveries and quarantine. Each shard is
-- stored completely or not at all. Called in autocommit, so that each statement has a fresh snapshot.
--
-- Parameters are arrays, an array for each column. An empty array stands for a column of nulls.
-- * s_ shards, sorted by id; l_ ledger rows, sorted by event id: instances wait for each other in the same order.
-- * e_ events and r_ runs, in log order; r_lease in milliseconds, 0: due now. q_ records for quarantine.
-- * r_due: not leased, and not due before (deliver_at); null: due now, or leased.
-- * r_sequence: of a sequential handler's run; r_sequence_fence: of its owner, the caller, if the run is leased.
-- * f_ ids that a frozen generation of the ledger may have, by the filters of the routing version; null: not known, so
--   that all generations are read.
-- * staged_ the rows of local_event that the events come from, in any order. Those of stored shards are deleted.
-- * p_careful: duplicates are likely. p_repeats: an event id occurs twice in the batch.
--
-- Results:
-- * status: stored; or nothing is written: routing, if handlers have changed since the caller read them; sequence, if
--   the caller does not own the sequence of a leased run.
-- * moved: the shards whose position matched. received_at: microseconds since 1970.
-- * born: a delivery id for each run, null if no event of the run is new. born_pending: the offsets of each run that
--   are left, as text joined by ';', null if no run lost any.
-- * resends: as record_ids.
--
-- Locks: shared advisory lock on routing; its new and deleted rows. Waits for another session only on the same shard or
-- id. For an id that came on another topic or with another payload: as handle_duplicates. Indexes: primary keys of
-- position, of the ledger's generations and of local_event.
--
-- Each statement counts, in small batches too, and planning a statement costs more than running it. So the plan is
-- generic, and work for duplicates or mismatched positions has statements of its own. Subscripts are cheaper than
-- unnest.
create or replace function inbox.ingest(
  p_owner uuid, p_fence bigint, p_routing_version bigint,
  s_shard int[], s_epoch int[], s_expected bigint[], s_next bigint[], s_leader_epoch int[],
  p_careful boolean, p_repeats boolean, l_id uuid[], l_shard int[], l_offset bigint[], l_digest bigint[],
  e_shard int[], e_offset bigint[], e_id uuid[], e_source_id text[], e_type text[], e_source text[], e_subject text[],
  e_key bytea[], e_payload bytea[], e_decoded bytea[], e_headers bytea[], e_occurred_at timestamptz[],
  e_kafka_timestamp timestamptz[], e_deliver_at timestamptz[],
  r_handler int[], r_shard int[], r_pending text[], r_events int[], r_lease int[], r_sequence int[],
  r_sequence_fence bigint[], r_due timestamptz[],
  q_shard int[], q_offset bigint[], q_reason text[], q_detail text[], q_key bytea[], q_payload bytea[],
  q_size bigint[], q_digest bigint[], q_headers bytea[], q_kafka_timestamp timestamptz[],
  staged_id bigint[], staged_event uuid[], f_generation int[], f_id uuid[],
  out status text, out moved int[], out born bigint[], out born_pending text, out stored int, out duplicates int,
  out conflicts int, out received_at bigint, out resends int[])
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off
set plan_cache_mode = force_generic_plan set lock_timeout = '10s' as $$
declare
  v_generation int;
  v_version bigint;
  v_all boolean;
  v_now timestamptz;
  v_slow boolean := p_careful or p_repeats;
  v_odd boolean;
  v_odd_id uuid[];
  v_odd_shard int[];
  v_odd_offset bigint[];
  v_odd_digest bigint[];
  v_lost_shard int[] := '{}';
  v_lost_offset bigint[] := '{}';
  v_gone boolean[];  -- for each event: whether it is left out. Null: no event is
begin
  perform inbox.require_read_committed();
  stored := 0; duplicates := 0; conflicts := 0; received_at := 0;
  -- Held to the end: a new handler waits for this batch, so that its backfill includes it.
  perform pg_advisory_xact_lock_shared(1768841848, 'inbox.routing'::regclass::oid::int);
  select version, generation into v_version, v_generation from inbox.routing where only_row;
  if v_version <> p_routing_version then
    status := 'routing';
    return;
  end if;
  if cardinality(r_sequence_fence) > 0 and exists (
    select from unnest(r_handler, r_lease, r_sequence, r_sequence_fence) r(handler, lease, sequence, fence)
    where r.sequence is not null and r.lease > 0 and not exists (
      select from inbox.sequence s
      where s.handler_id = r.handler and s.sequence = r.sequence and s.owner = p_owner and s.fence = r.fence))
  then
    status := 'sequence';
    return;
  end if;
  status := 'stored';

  -- Enqueued events are stored and deleted, or neither. After the database has lost commits, one may be gone, and
  -- another may have its number: the batch was read from a server that is not the primary any more.
  if cardinality(staged_id) > 0 and cardinality(staged_id) > (
    select count(*) from unnest(staged_id, staged_event) x(id, event_id)
    join inbox.local_event l on l.local_id = x.id and l.event_id = x.event_id)
  then
    moved := '{}';
    perform pg_logical_emit_message(true, 'inboxd', '');  -- as below
    return;
  end if;

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
    -- Rows of this transaction (xmin) matched; others were there before.
    select coalesce(array_agg(s.shard), '{}') into moved
    from unnest(s_shard, s_epoch, s_expected) s(shard, epoch, expected)
    join inbox.position p on p.shard_id = s.shard and p.epoch = s.epoch and p.first_offset = s.expected
    where p.xmin = pg_current_xact_id()::xid;
    if cardinality(moved) = 0 then
      -- An earlier try may have stored the batch, with its COMMIT kept from waiting for the synchronous standby. This
      -- transaction has to write, because otherwise it does not wait for the standby either, and the offset would be
      -- committed to Kafka too early.
      perform pg_logical_emit_message(true, 'inboxd', '');
      return;
    end if;
    select coalesce(array_agg(l.id order by l.i), '{}'), coalesce(array_agg(l.shard order by l.i), '{}'),
           coalesce(array_agg(l."offset" order by l.i), '{}'), coalesce(array_agg(l.digest order by l.i), '{}')
    into l_id, l_shard, l_offset, l_digest
    from unnest(l_id, l_shard, l_offset, l_digest) with ordinality l(id, shard, "offset", digest, i)
    where l.shard = any (moved);
  end if;

  if cardinality(staged_id) > 0 then
    delete from inbox.local_event l where l.local_id = any (staged_id) and l.shard_id = any (moved);
  end if;

  v_now := clock_timestamp();
  received_at := (extract(epoch from v_now) * 1000000)::bigint;
  if not v_slow and f_id is null then
    v_slow := exists (select from inbox.ledger g where g.generation <> v_generation and g.event_id = any (l_id));
  elsif not v_slow and cardinality(f_id) > 0 then
    v_slow := exists (
      select from unnest(f_generation, f_id) f(generation, id)
      cross join lateral (
        select from inbox.ledger g where g.generation = f.generation and g.event_id = f.id offset 0) k);
  end if;
  if not v_slow then
    -- A plain INSERT costs little more than half of an INSERT with ON CONFLICT. A duplicate ends this attempt.
    begin
      insert into inbox.ledger (event_id, shard_id, generation, "offset", digest, received_at)
      select l_id[i], l_shard[i], v_generation, l_offset[i], l_digest[i], v_now
      from generate_series(1, cardinality(l_id)) i;
      get diagnostics stored = row_count;
    exception when unique_violation then
      v_slow := true;
    end;
  end if;
  if v_slow then
    select n.stored, n.lost_shard, n.lost_offset, n.odd, n.resends
    into stored, v_lost_shard, v_lost_offset, v_odd, resends
    from inbox.record_ids(v_now, v_generation, p_repeats, l_id, l_shard, l_offset, l_digest, f_generation, f_id) n;
    duplicates := cardinality(l_id) - stored;
    if v_odd then
      -- New ids are not odd, and to look them up in all generations would cost what the filters save.
      select array_agg(l.id order by l.i), array_agg(l.shard order by l.i), array_agg(l."offset" order by l.i),
             array_agg(l.digest order by l.i) into v_odd_id, v_odd_shard, v_odd_offset, v_odd_digest
      from unnest(l_id, l_shard, l_offset, l_digest) with ordinality l(id, shard, "offset", digest, i)
      join unnest(v_lost_shard, v_lost_offset) x(shard, "offset")
        on x.shard = l.shard and x."offset" = l."offset";
      conflicts := inbox.handle_duplicates(
        p_routing_version, v_odd_id, v_odd_shard, v_odd_offset, v_odd_digest, e_shard, e_offset, e_source_id, e_type,
        e_source, e_subject, e_key, e_payload, e_decoded, e_headers, e_occurred_at, e_kafka_timestamp, e_deliver_at);
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
                             decoded, headers, occurred_at, kafka_timestamp, received_at, deliver_at)
    select e_shard[i], e_offset[i], e_id[i], e_source_id[i], e_type[i], e_source[i], e_subject[i], e_key[i],
           e_payload[i], e_decoded[i], e_headers[i], e_occurred_at[i], e_kafka_timestamp[i], v_now,
           e_deliver_at[i]
    from generate_series(1, cardinality(e_shard)) i
    where v_gone is null or not v_gone[i];
  end if;

  if cardinality(r_handler) > 0 and stored > 0 and v_gone is null then
    select array_agg(nextval('inbox.delivery_delivery_id_seq')) into born
    from generate_series(1, cardinality(r_handler));
    insert into inbox.delivery (delivery_id, handler_id, shard_id, sequence, pending, events, claims, fence, owner,
                                due_at, postponed, received_from, received_to)
    select born[i], r_handler[i], r_shard[i], r_sequence[i], r_pending[i]::int8multirange, r_events[i],
           (r_lease[i] > 0)::int, case when r_lease[i] > 0 then p_fence else 0 end,
           case when r_lease[i] > 0 then p_owner end,
           case when r_due[i] is not null then greatest(r_due[i], clock_timestamp())
                when r_sequence[i] is null then clock_timestamp() + r_lease[i]::float8 * interval '1 ms'
                else 'infinity' end, r_due[i] is not null, v_now, v_now
    from generate_series(1, cardinality(r_handler)) i;
  elsif cardinality(r_handler) > 0 and stored > 0 then
    with run as (
      select r.*, r.pending_text::int8multirange - lost.offsets as pending
      from unnest(r_handler, r_shard, r_pending, r_lease, r_sequence, r_due)
           with ordinality r(handler, shard, pending_text, lease, sequence, due, ordinal)
      left join lateral (
        select coalesce(range_agg(int8range(x."offset", x."offset" + 1)), '{}') as offsets
        from unnest(v_lost_shard, v_lost_offset) x(shard, "offset") where x.shard = r.shard) lost on true
      where r.shard = any (moved)),
    kept as materialized (
      select run.*, nextval('inbox.delivery_delivery_id_seq') as id
      from (select * from run where not isempty(run.pending) order by ordinal) run),
    inserted as (
      insert into inbox.delivery (delivery_id, handler_id, shard_id, sequence, pending, events, claims, fence, owner,
                                  due_at, postponed, received_from, received_to)
      select id, handler, shard, sequence, pending, inbox.count_of(pending), (lease > 0)::int,
             case when lease > 0 then p_fence else 0 end, case when lease > 0 then p_owner end,
             case when due is not null then greatest(due, clock_timestamp())
                  when sequence is null then clock_timestamp() + lease::float8 * interval '1 ms'
                  else 'infinity' end, due is not null, v_now, v_now
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
  duplicates := duplicates - conflicts;  -- each record is counted once
end
$$;
