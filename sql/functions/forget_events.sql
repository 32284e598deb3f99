-- Erases the content of events (p_shard, p_offset, received at p_received): key, payload, headers, subject, error
-- messages and edits. Ids, type and outcomes stay. Pending events are skipped, with an outcome: without its key an
-- event means nothing to a handler. Events that are leased are left alone, because a handler may have them in memory;
-- the caller tries again. left_leased: their subscripts. An expired lease ends, so that its owner cannot renew it. The
-- audit has no digest of the key, because keys can be guessed.
--
-- Locks: the rows of backfill of these shards, so that none passes the events meanwhile; the sequences of lanes; the
-- deliveries, SKIP LOCKED; the events. share_routing and op_dead_lock come first in the same transaction. Indexes:
-- event_place; failure_event; primary key of sequence. Reads all of delivery, which has pending work only.
create or replace function inbox.forget_events(
  p_actor text, p_shard int[], p_offset bigint[], p_received timestamptz[],
  out erased bigint, out skipped bigint, out left_leased int[])
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
declare
  v_now timestamptz := clock_timestamp();
  v_deliveries bigint[];
  v_locked bigint[];
  v_free int[];
  v_ids uuid[];
  v_gone inbox.delivery[];
begin
  perform from inbox.backfill f where f.shard_id = any (p_shard) order by f.handler_id, f.shard_id for update;
  select coalesce(array_agg(distinct d.delivery_id), '{}') into v_deliveries
  from unnest(p_shard, p_offset) p(shard, "offset")
  join inbox.delivery d on d.shard_id = p.shard and d.pending @> p."offset";
  perform inbox.lock_lanes(array_agg(d.handler_id), array_agg(d.sequence), true)
  from inbox.delivery d where d.delivery_id = any (v_deliveries) and d.lane is not null;
  -- A locked row is being settled or claimed: its events are left, too.
  v_locked := array(
    select d.delivery_id from inbox.delivery d
    where d.delivery_id = any (v_deliveries)
      and (d.owner is null
           or case when d.sequence is null then d.due_at <= v_now
                   else not exists (select from inbox.sequence s
                                    where s.handler_id = d.handler_id and s.sequence = d.sequence
                                      and s.leased_until > v_now) end)
    order by d.delivery_id for update skip locked);

  select coalesce(array_agg(p.i) filter (where l.is_leased), '{}'),
         coalesce(array_agg(p.i) filter (where not l.is_leased), '{}')
  into left_leased, v_free
  from unnest(p_shard, p_offset) with ordinality p(shard, "offset", i)
  cross join lateral (
    select exists (
      select from inbox.delivery d
      where d.shard_id = p.shard and d.pending @> p."offset" and d.delivery_id <> all (v_locked)) as is_leased) l;

  with freed as (
    select p_shard[i] as shard, range_agg(int8range(p_offset[i], p_offset[i] + 1)) as offsets
    from unnest(v_free) i group by p_shard[i]),
  taken as materialized (
    select d, f.offsets from inbox.delivery d join freed f on f.shard = d.shard_id and f.offsets && d.pending),
  shrunk as (
    update inbox.delivery d
    set pending = d.pending - t.offsets, events = inbox.count_of(d.pending - t.offsets), owner = null, fence = 0,
        last_error = null
    from taken t where d.delivery_id = (t.d).delivery_id and not d.pending <@ t.offsets),
  ended as (
    delete from inbox.delivery d using taken t where d.delivery_id = (t.d).delivery_id and d.pending <@ t.offsets),
  recorded as (
    insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts)
    select (t.d).handler_id, (t.d).shard_id, (t.d).pending * t.offsets, 'skipped', (t.d).attempts from taken t)
  select coalesce(array_agg(t.d), '{}'), coalesce(sum(inbox.count_of((t.d).pending * t.offsets)), 0)
  into v_gone, skipped
  from taken t;

  with erased_events as (
    update inbox.event e
    set key = null, payload = null, decoded = null, headers = null, subject = null, forgotten_at = v_now,
        source_id = case  -- it may be the key's text, also of a key that was decoded
          when e.decoded is null and substr(e.key, 1, 1) is distinct from '\x00'
            and convert_to(e.source_id, 'UTF8') is distinct from e.key then e.source_id end
    from unnest(v_free) i
    where e.shard_id = p_shard[i] and e."offset" = p_offset[i] and e.received_at = p_received[i]
    returning e.event_id)
  select count(*), coalesce(array_agg(x.event_id), '{}') into erased, v_ids from erased_events x;
  delete from inbox.edit x where x.event_id = any (v_ids);
  update inbox.failure f set message = 'forgotten' where f.event_id = any (v_ids);
  perform inbox.advance_lanes(array_agg((g).handler_id), array_agg((g).sequence), array_agg((g).lane))
  from unnest(v_gone) g where (g).lane is not null;
  if erased > 0 then
    insert into inbox.audit (actor, operation, target, detail)
    values (p_actor, 'events forget', 'a key',
            jsonb_build_object('events', erased, 'skipped', skipped, 'event_ids', to_jsonb(v_ids)));
  end if;
end
$$;
