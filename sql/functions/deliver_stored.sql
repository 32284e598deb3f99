-- Runs a bite of `handlers backfill`: the next stored events of request r become deliveries, at most p_most events and
-- about p_bytes of payload, and its ranges move on. Events that are pending for the handler, forgotten or outside of
-- its subscription are passed over. Without r.again, so are events with an outcome or a dead letter; with it, events
-- whose dead letter is parked or parks its key. Other dead letters of delivered events are deleted, because a replay
-- would deliver the event twice.
--
-- The bite takes the events of all shards in the order of storing, as far as it has read each of them: `place` is the
-- time of storing, but never before the time of an earlier offset. So a sequence of all shards keeps its order. A row
-- has events of a single day, at most 1,000, and spans less than 10,000 offsets. They never expire: an operator asked
-- for them.
--
-- read: the events that it has passed. Locks: rows of backfill_range and dead letters; the caller has locked the
-- request. Indexes: event_place, outcome_place; delivery_due (it reads all deliveries of the handler); (handler_id,
-- shard_id, offset) of dead_letter; primary key of also_seen.
create or replace function inbox.deliver_stored(
  r inbox.backfill_request, p_most bigint, p_bytes bigint,
  out read bigint, out events bigint, out letters bigint, out ids bigint[])
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  h inbox.handler;
  v_each bigint;
  -- Whole days: the index has offsets, so events before the time are skipped individually.
  v_from timestamptz := date_trunc('day', r.from_time, 'UTC');
  v_to timestamptz := date_trunc('day', r.to_time, 'UTC') + interval '1 day';
  v_in_one boolean;
begin
  select * into h from inbox.handler x where x.handler_id = r.handler_id;
  v_in_one := inbox.sequence_of(h.mode, h.order_scope, 1) is not distinct from 0;
  select greatest(ceil(greatest(p_most, 256)::numeric / greatest(count(*), 1)), 16) into v_each
  from inbox.backfill_range g where g.handler_id = r.handler_id;
  with near as materialized (
    select g.shard_id, g.end_offset, g.elsewhere, e.*,
           max(e.received_at) over (partition by g.shard_id order by e."offset") as place,
           count(*) over (partition by g.shard_id) = v_each as has_more
    from inbox.backfill_range g
    cross join lateral (
      select e."offset", e.event_id, e.event_type, e.received_at, e.forgotten_at, e.deliver_at,
             coalesce(octet_length(e.payload), 0) + coalesce(octet_length(e.decoded), 0) as size
      from inbox.event e
      where e.shard_id = g.shard_id and e."offset" >= g.next_offset and e."offset" < g.end_offset
        and e.received_at >= v_from and e.received_at < v_to
      order by e."offset" limit v_each) e
    where g.handler_id = r.handler_id),
  known_to as (
    select min(x.place) as place
    from (select max(n.place) as place from near n where n.has_more group by n.shard_id) x),
  reached as materialized (
    select n.* from near n cross join known_to k where k.place is null or n.place <= k.place),
  spans as materialized (
    select n.shard_id, min(n."offset") as first, max(n."offset") + 1 as "end" from reached n group by n.shard_id),
  own as materialized (
    select d.shard_id, d.pending from inbox.delivery d where d.handler_id = r.handler_id),
  pending as materialized (
    select s.shard_id, range_agg(p) as offsets
    from spans s
    join own d on d.shard_id = s.shard_id and d.pending && int8range(s.first, s."end")
    cross join lateral unnest(d.pending) p
    group by s.shard_id),
  settled as materialized (
    select s.shard_id, range_agg(p) as offsets
    from spans s
    join inbox.outcome o on o.shard_id = s.shard_id and lower(o.offsets) > s.first - 10000
                        and lower(o.offsets) < s."end" and o.offsets && int8range(s.first, s."end")
    cross join lateral unnest(o.offsets) p
    where not r.again and o.handler_id = r.handler_id and o.finished_at >= v_from group by s.shard_id),
  letter as materialized (
    select x.shard_id, x."offset", not r.again or x.parks or x.state = 'parked' as stays
    from spans s
    join inbox.dead_letter x on x.handler_id = r.handler_id and x.shard_id = s.shard_id and x."offset" >= s.first
                            and x."offset" < s."end"),
  -- Once for each type: inbox.matches is not inlined here, and takes 5 µs a call.
  all_types as materialized (select distinct n.event_type from reached n),
  own_types as materialized (
    select t.event_type from all_types t
    where inbox.matches(t.event_type, h.types) and inbox.matches(t.event_type, r.types)),
  chosen as (
    select n.shard_id, n."offset", n.received_at, n.place, n.size,
           case when h.mode <> 'sequential' and n.deliver_at > clock_timestamp() then n.deliver_at end as due,
           n.received_at >= r.from_time and n.received_at < r.to_time and n.forgotten_at is null
           and not coalesce(p.offsets @> n."offset", false) and not coalesce(s.offsets @> n."offset", false)
           and not coalesce(l.stays, false)
           and (not n.elsewhere and n.event_type in (select t.event_type from own_types t)
                or exists (
                  select from inbox.also_seen a
                  where a.event_id = n.event_id
                    and inbox.matches(a.topic, h.topics) and inbox.matches(a.topic, r.topics)
                    and inbox.matches(a.event_type, h.types) and inbox.matches(a.event_type, r.types))) as is_chosen
    from reached n
    left join pending p using (shard_id)
    left join settled s using (shard_id)
    left join letter l using (shard_id, "offset")),
  -- Materialized: PostgreSQL 15 fails to plan the comparison with a filtered count.
  counted as materialized (
    select c.*, count(*) filter (where c.is_chosen) over o as n,
           coalesce(sum(c.size) filter (where c.is_chosen) over o, 0) - case when c.is_chosen then c.size else 0 end
             as bytes_before
    from chosen c
    window o as (order by c.place, c.shard_id, c."offset")),
  bite as materialized (
    select c.* from counted c where c.n <= p_most and c.bytes_before < p_bytes),
  -- Numbered within the shard. In a sequence of all shards, events of another shard may lie between two of them.
  numbered as (
    select b.*, row_number() over (partition by b.shard_id order by b.n) as place_in_shard
    from bite b where b.is_chosen),
  runs as materialized (
    select x.shard_id, min(x.n) as n, range_agg(int8range(x."offset", x."offset" + 1)) as pending, count(*) as events,
           min(x.received_at) as received_from, max(x.received_at) as received_to, x.due
    from numbered x
    group by x.shard_id, x.due, case when v_in_one then x.n - x.place_in_shard end, (x.place_in_shard - 1) / 1000,
             x."offset" / 10000, date_trunc('day', x.place, 'UTC')),
  born as (
    insert into inbox.delivery (handler_id, shard_id, sequence, pending, events, due_at, never_expires, postponed,
                                received_from, received_to)
    select r.handler_id, u.shard_id, inbox.sequence_of(h.mode, h.order_scope, u.shard_id), u.pending, u.events,
           coalesce(u.due, case when h.mode = 'single' then clock_timestamp() else 'infinity' end), true,
           u.due is not null, u.received_from, u.received_to
    from runs u order by u.n
    returning delivery_id, inbox.delivery.events),
  deleted as (
    delete from inbox.dead_letter x using letter l join numbered b using (shard_id, "offset")
    where x.handler_id = r.handler_id and x.shard_id = l.shard_id and x."offset" = l."offset"
    returning 1),
  left_over as (
    select n.shard_id, max(b."offset") + 1 as next_offset, n.end_offset,
           bool_or(n.has_more) or count(*) > count(b."offset") as has_more
    from near n left join bite b using (shard_id, "offset")
    group by n.shard_id, n.end_offset),
  moved as (
    update inbox.backfill_range g set next_offset = o.next_offset
    from left_over o
    where g.handler_id = r.handler_id and g.shard_id = o.shard_id and o.has_more and o.next_offset < o.end_offset),
  passed as (
    delete from inbox.backfill_range g
    where g.handler_id = r.handler_id and not exists (
      select from left_over o
      where o.shard_id = g.shard_id and o.has_more and coalesce(o.next_offset, 0) < o.end_offset))
  select (select count(*) from bite), coalesce(sum(b.events), 0), (select count(*) from deleted),
         coalesce(array_agg(b.delivery_id), '{}')
  into read, events, letters, ids
  from born b;
end
$$;
