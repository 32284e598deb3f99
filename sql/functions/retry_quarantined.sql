-- Retries a batch of `quarantine retry`: decoded records, in a single transaction. New events (e_, with their sorted
-- ids in l_) are stored as by inbox.ingest, each at its own place, and leave quarantine. So do duplicates and skipped
-- tombstones (neither in e_ nor in k_). Records that still cannot be read (k_) keep their row with the present reason,
-- and so do conflicts. Positions do not move. status: stored, or gone: some of q_id have left quarantine since the
-- caller read them, and nothing is written.
--
-- Routing is read here, under its lock. If a handler's backfill has yet to pass an event, the backfill delivers it.
-- Locking its rows of backfill keeps it from passing without seeing the event.
--
-- Locks: shared advisory lock on routing; the quarantined records, in order of id; shared the rows of backfill of their
-- shards; then as inbox.ingest without positions. Indexes: primary keys of quarantine, backfill and ledger.
create or replace function inbox.retry_quarantined(
  p_actor text, p_asked text, q_id bigint[],
  p_repeats boolean, l_id uuid[], l_shard int[], l_offset bigint[], l_digest bigint[],
  e_shard int[], e_offset bigint[], e_id uuid[], e_source_id text[], e_type text[], e_source text[], e_subject text[],
  e_key bytea[], e_payload bytea[], e_decoded bytea[], e_headers bytea[], e_occurred_at timestamptz[],
  e_kafka_timestamp timestamptz[], e_deliver_at timestamptz[],
  k_id bigint[], k_reason text[], k_detail text[],
  out status text, out stored int, out duplicates int, out conflicts int)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan set lock_timeout = '10s' as $$
declare
  v_now timestamptz;
  v_odd boolean;
  v_left int;
  v_lost_shard int[];
  v_lost_offset bigint[];
  v_new int[] := '{}';  -- subscripts of e_: new events
begin
  perform inbox.require_read_committed();
  stored := 0; duplicates := 0; conflicts := 0;
  perform pg_advisory_xact_lock_shared(1768841848, 'inbox.routing'::regclass::oid::int);
  perform from inbox.quarantine q where q.quarantine_id = any (q_id) order by q.quarantine_id for update;
  get diagnostics v_left = row_count;
  if v_left < cardinality(q_id) then
    status := 'gone';
    return;
  end if;
  status := 'stored';

  v_now := clock_timestamp();
  if cardinality(l_id) > 0 then
    perform from inbox.backfill f where f.shard_id = any (e_shard) order by f.handler_id, f.shard_id for share;
    select n.stored, n.lost_shard, n.lost_offset, n.odd into stored, v_lost_shard, v_lost_offset, v_odd
    from inbox.record_ids(v_now, (select r.generation from inbox.routing r where r.only_row), p_repeats, l_id, l_shard,
                          l_offset, l_digest, null, null) n;
    duplicates := cardinality(l_id) - stored;
    if v_odd then
      conflicts := inbox.handle_duplicates(
        (select version from inbox.routing where only_row), l_id, l_shard, l_offset, l_digest, e_shard, e_offset,
        e_source_id, e_type, e_source, e_subject, e_key, e_payload, e_decoded, e_headers, e_occurred_at,
        e_kafka_timestamp, e_deliver_at);
      -- It inserted conflicts into quarantine, which has their records already: move the reason to the existing rows.
      with again as (
        delete from inbox.quarantine n using unnest(e_shard, e_offset) e(shard, "offset")
        where n.shard_id = e.shard and n."offset" = e."offset" and n.xmin = pg_current_xact_id()::xid
        returning n.shard_id, n."offset", n.reason, n.detail, n.event_id)
      update inbox.quarantine q set reason = a.reason, detail = a.detail, event_id = a.event_id
      from again a
      where q.quarantine_id = any (q_id) and q.shard_id = a.shard_id and q."offset" = a."offset";
    end if;
    select coalesce(array_agg(i order by i), '{}') into v_new
    from generate_series(1, cardinality(e_shard)) i
    where not exists (
      select from unnest(v_lost_shard, v_lost_offset) x(shard, "offset")
      where x.shard = e_shard[i] and x."offset" = e_offset[i]);
  end if;

  insert into inbox.event (shard_id, "offset", event_id, source_id, event_type, source, subject, key, payload,
                           decoded, headers, occurred_at, kafka_timestamp, received_at, deliver_at)
  select e_shard[i], e_offset[i], e_id[i], e_source_id[i], e_type[i], e_source[i], e_subject[i], e_key[i],
         e_payload[i], e_decoded[i], e_headers[i], e_occurred_at[i], e_kafka_timestamp[i], v_now,
         e_deliver_at[i]
  from unnest(v_new) i;

  insert into inbox.delivery (handler_id, shard_id, sequence, pending, events, due_at, postponed, received_from,
                              received_to)
  select h.handler_id, e.shard, inbox.sequence_of(h.mode, h.order_scope, e.shard),
         range_agg(int8range(e."offset", e."offset" + 1)), count(*),
         coalesce(w.due, case when h.mode <> 'single' then 'infinity' else clock_timestamp() end), w.due is not null,
         v_now, v_now
  from (select e_shard[i] as shard, e_offset[i] as "offset", e_type[i] as type, e_deliver_at[i] as deliver_at
        from unnest(v_new) i) e
  join inbox.shard s on s.shard_id = e.shard
  join inbox.handler h on h.retired_at is null and inbox.matches(s.topic, h.topics) and inbox.matches(e.type, h.types)
  cross join lateral (
    select case when h.mode <> 'sequential' and e.deliver_at > v_now then e.deliver_at end as due) w
  where not exists (
    select from inbox.backfill f
    where f.handler_id = h.handler_id and f.shard_id = e.shard and f.next_offset <= e."offset"
      and e."offset" < f.end_offset and not f.elsewhere and (f.from_time is null or f.from_time <= v_now)
      and inbox.was_subscribed(h, h.routing_version, s.topic, e.type))
  group by h.handler_id, h.mode, h.order_scope, e.shard, e."offset" / 10000, w.due
  order by h.handler_id, e.shard, min(e."offset");

  update inbox.quarantine q set reason = k.reason, detail = k.detail, event_id = null
  from unnest(k_id, k_reason, k_detail) k(id, reason, detail) where q.quarantine_id = k.id;
  -- Rows that this transaction wrote stay: conflicts and k_.
  delete from inbox.quarantine q where q.quarantine_id = any (q_id) and q.xmin <> pg_current_xact_id()::xid;
  get diagnostics v_left = row_count;
  duplicates := duplicates - conflicts;
  if v_left > 0 then
    insert into inbox.audit (actor, operation, target, detail)
    values (p_actor, 'quarantine retry', p_asked, jsonb_build_object(
      'events', stored, 'duplicates', duplicates, 'skipped', v_left - stored - duplicates,
      'event_ids', (select coalesce(jsonb_agg(e_id[i] order by i), '[]') from unnest(v_new) i)));
  end if;
end
$$;
