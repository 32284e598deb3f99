-- Turns dead letters p_ids into deliveries, first attempt; expired events do not expire again. A run has a handler's
-- events of a shard, in order, spans less than 1,000 offsets and weighs about 8 MiB. A dropped event is restored from
-- the dead letter's copy. Dead letters that a backfill has yet to pass stay, because the backfill may deliver the
-- event. So do dead letters of retired handlers.
--
-- A dead letter of a sequence comes back in its lane, at its place in the order of storing. The row that was the first
-- of the lane waits for it. Leased rows after it lose their lease uncharged: a call that runs now cannot settle. The
-- owner does not know the lane yet, and so the sequence gets another fence: nothing more is born leased or claimed
-- until the owner has released the sequence and taken it again.
--
-- Events that are parked by a dead letter of p_ids come with it, about p_most in all. If more are left, the first of
-- them parks the key in place of the earlier dead letter, and is in parking: the caller calls again with these ids. A
-- parked event whose key another dead letter parks stays. p_keep_heads: only the parked events come back; p_ids stay
-- dead and no longer park their key.
--
-- A dead letter whose content `events forget` has erased is recorded as skipped instead.
--
-- Locks: the sequences of p_ids, then the dead letters, then first and leased rows of the lanes, each in order of id.
-- share_routing and op_dead_lock come first in the same transaction, so that no handler is added or retired meanwhile.
-- Indexes: primary keys of dead_letter and backfill; dead_letter_parks, dead_letter_lane, delivery_lane, event_place.
create or replace function inbox.replay_dead(
  p_ids bigint[], p_keep_heads boolean, p_most int,
  out letters bigint, out restored bigint, out event_ids uuid[], out parking bigint[])
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_seqscan = off as $$
declare
  v_now timestamptz := clock_timestamp();
  v_heads bigint[];
  v_parked bigint[];
  v_ids bigint[];
  v_firsts bigint[];  -- first rows of lanes, before, and leased ones
  v_lane_handler int[];  -- and those lanes
  v_lane_sequence int[];
  v_lanes bigint[];
begin
  perform inbox.lock_lanes(array_agg(x.handler_id), array_agg(x.sequence), true)
  from inbox.dead_letter x where x.dead_letter_id = any (p_ids) and x.sequence is not null;

  select coalesce(array_agg(x.dead_letter_id), '{}'),
         coalesce(array_agg(x.dead_letter_id) filter (where x.parks), '{}') into v_ids, v_heads
  from inbox.dead_letter x join inbox.handler h using (handler_id)
  where x.dead_letter_id = any (p_ids) and h.retired_at is null
    and (x.parks or x.state <> 'parked' or not inbox.is_parked(x.handler_id, x.sequence, x.lane))
    and not exists (
      select from inbox.backfill f
      where f.handler_id = x.handler_id and f.shard_id = x.shard_id and f.next_offset <= x."offset"
        and x."offset" < f.end_offset);
  if p_keep_heads then
    -- A parked event that parks its key since an unfinished replay was never called.
    select coalesce(array_agg(x.dead_letter_id), '{}') into v_ids
    from inbox.dead_letter x where x.dead_letter_id = any (v_heads) and x.state = 'parked';
  end if;

  with behind as (
    select p.dead_letter_id, p.place, greatest(p_most / greatest(cardinality(v_heads), 1), 1) as most
    from inbox.dead_letter x
    cross join lateral (
      select b.dead_letter_id, row_number() over () as place from (
        select p.dead_letter_id from inbox.dead_letter p
        where p.handler_id = x.handler_id and p.sequence = x.sequence and p.lane = x.lane and p.state = 'parked'
          and p.dead_letter_id <> x.dead_letter_id
          and not exists (
            select from inbox.backfill f
            where f.handler_id = p.handler_id and f.shard_id = p.shard_id and f.next_offset <= p."offset"
              and p."offset" < f.end_offset)
        order by p.ordinal, p.received_at, p.shard_id, p."offset"
        limit greatest(p_most / greatest(cardinality(v_heads), 1), 1) + 1) b) p
    where x.dead_letter_id = any (v_heads))
  select coalesce(array_agg(b.dead_letter_id) filter (where b.place <= b.most), '{}'),
         coalesce(array_agg(b.dead_letter_id) filter (where b.place > b.most), '{}') into v_parked, parking
  from behind b;
  select coalesce(array_agg(t.dead_letter_id), '{}'), coalesce(array_agg(t.event_id), '{}'), count(*)
  into v_ids, event_ids, letters
  from (
    select x.dead_letter_id, x.event_id from inbox.dead_letter x
    where x.dead_letter_id = any (v_ids || v_parked) order by x.dead_letter_id for update) t;

  with forgotten as (
    delete from inbox.dead_letter x where x.dead_letter_id = any (v_ids) and x.forgotten_at is not null
    returning x.handler_id, x.shard_id, x."offset", x.attempts)
  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts)
  select f.handler_id, f.shard_id, int8multirange(int8range(f."offset", f."offset" + 1)), 'skipped', f.attempts
  from forgotten f;

  select coalesce(array_agg(f.delivery_id), '{}'), coalesce(array_agg(l.handler_id), '{}'),
         coalesce(array_agg(l.sequence), '{}'), coalesce(array_agg(l.lane), '{}')
  into v_firsts, v_lane_handler, v_lane_sequence, v_lanes
  from (select distinct x.handler_id, x.sequence, x.lane from inbox.dead_letter x
        where x.dead_letter_id = any (v_ids) and x.lane is not null) l
  cross join lateral (
    select d.delivery_id from inbox.delivery d
    where d.handler_id = l.handler_id and d.sequence = l.sequence and d.lane = l.lane
    order by coalesce(d.ordinal, d.delivery_id), inbox.stored_at(d), d.shard_id, lower(d.pending) limit 1) f;

  select coalesce(array_agg(t.delivery_id), '{}') into v_firsts from (
    select d.delivery_id
    from unnest(v_lane_handler, v_lane_sequence, v_lanes) l(handler, sequence, lane)
    join inbox.delivery d on d.handler_id = l.handler and d.sequence = l.sequence and d.lane = l.lane
    where d.owner is not null or d.delivery_id = any (v_firsts)
    order by d.delivery_id for update of d) t;
  update inbox.sequence s set fence = hashtextextended(gen_random_uuid()::text, 0)
  where s.owner is not null and (s.handler_id, s.sequence) in (
    select x.handler_id, x.sequence from inbox.dead_letter x
    where x.dead_letter_id = any (v_ids) and x.lane is not null);

  with picked as materialized (
    select x.*, x.lane is not null and x.sequence = inbox.sequence_of(h.mode, h.order_scope, x.shard_id) as in_lane,
           h.mode = 'batch' as is_batch,
           coalesce((x.handler_id, x.sequence, x.lane) in (
             select t.* from unnest(v_lane_handler, v_lane_sequence, v_lanes) t), false) as joins_others,
           coalesce(octet_length(x.key), 0) + coalesce(octet_length(x.payload), 0)
             + coalesce(octet_length(x.decoded), 0) + coalesce(octet_length(x.headers), 0) as bytes
    from inbox.dead_letter x join inbox.handler h using (handler_id) where x.dead_letter_id = any (v_ids)),
  stored as materialized (  -- where the dead letter says, else in any day: another replay may have restored it
    select p.dead_letter_id, coalesce(
             (select e.received_at from inbox.event e
              where e.shard_id = p.shard_id and e."offset" = p."offset" and e.received_at = p.received_at
                and e.event_id = p.event_id limit 1),
             (select max(e.received_at) from inbox.event e
              where e.shard_id = p.shard_id and e."offset" = p."offset" and e.event_id = p.event_id)) as received_at
    from picked p),
  -- Rows of the lane from the same delivery: a new row does not reach across them, and is ordered among them.
  placed as (
    select p.*, s.received_at as stored_at, n.rows_before, n.next_from
    from picked p join stored s using (dead_letter_id)
    cross join lateral (
      select count(*) filter (where lower(d.pending) < p."offset") as rows_before,
             min(d.received_from) filter (where lower(d.pending) > p."offset" and p.sequence <> 0) as next_from
      from inbox.delivery d
      where p.in_lane and p.joins_others and d.handler_id = p.handler_id and d.sequence = p.sequence and d.lane = p.lane
        and coalesce(d.ordinal, d.delivery_id) = p.ordinal and d.shard_id = p.shard_id) n),
  weighed as (
    select p.*, (sum(p.bytes) over (
             partition by p.handler_id, p.shard_id, case when p.in_lane then p.lane end,
                          case when p.in_lane then p.ordinal end
             order by p."offset") - p.bytes) / 8388608 as bite
    from placed p),
  back as (
    insert into inbox.event (shard_id, "offset", event_id, source_id, event_type, source, subject, key, payload,
                             decoded, headers, occurred_at, kafka_timestamp, received_at, deliver_at)
    select distinct on (p.shard_id, p."offset")
           p.shard_id, p."offset", p.event_id, p.source_id, p.event_type, p.source, p.subject, p.key, p.payload,
           p.decoded, p.headers, p.occurred_at, p.kafka_timestamp, v_now, p.deliver_at
    from placed p where p.stored_at is null
    order by p.shard_id, p."offset"
    returning 1),
  runs as (
    select p.handler_id, p.shard_id, case when p.in_lane then p.sequence when p.is_batch then 0 end as sequence,
           case when p.in_lane then p.ordinal end as ordinal, case when p.in_lane then p.lane end as lane,
           bool_or(p.joins_others) as joins_others, (array_agg(p.order_key))[1] as order_key,
           range_agg(int8range(p."offset", p."offset" + 1)) as pending, count(*) as events,
           bool_or(p.state <> 'parked') as never_expires,
           -- In a lane the time of storing is part of the order, also of an event that is restored now.
           min(case when p.in_lane then least(p.received_at, p.stored_at, p.next_from)
                    else coalesce(p.stored_at, v_now) end) as received_from,
           max(coalesce(p.stored_at, v_now)) as received_to
    from weighed p
    group by p.handler_id, p.shard_id, p.in_lane, case when p.in_lane then p.sequence when p.is_batch then 0 end,
             case when p.in_lane then p.lane end, case when p.in_lane then p.ordinal end,
             case when p.in_lane and p.sequence = 0 then p.received_at end, p.rows_before, p."offset" / 1000, p.bite),
  placed_runs as (
    select r.*, r.lane is null or not r.joins_others and row_number() over (
             partition by r.handler_id, r.sequence, r.lane
             order by r.ordinal, case when r.sequence = 0 then r.received_from end, r.shard_id, lower(r.pending)) = 1
             as is_due
    from runs r),
  born as (
    insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, lane, order_key, pending, events, due_at,
                                never_expires, received_from, received_to)
    select r.handler_id, r.shard_id, r.sequence, r.ordinal, r.lane, r.order_key, r.pending, r.events,
           case when r.is_due then v_now else 'infinity' end, r.never_expires, r.received_from, r.received_to
    from placed_runs r
    order by r.handler_id, r.shard_id, lower(r.pending))
  select count(*) into restored from back;

  delete from inbox.dead_letter x where x.dead_letter_id = any (v_ids);
  update inbox.dead_letter x set parks = x.dead_letter_id = any (parking)
  where x.dead_letter_id = any (v_heads || parking);
  update inbox.delivery d
  set due_at = 'infinity', owner = null, fence = 0, claims = greatest(d.claims - (d.owner is not null)::int, 0)
  where d.delivery_id = any (v_firsts) and exists (
    select from inbox.delivery e
    where e.handler_id = d.handler_id and e.sequence = d.sequence and e.lane = d.lane
      and (coalesce(e.ordinal, e.delivery_id), inbox.stored_at(e), e.shard_id, lower(e.pending))
          < (coalesce(d.ordinal, d.delivery_id), inbox.stored_at(d), d.shard_id, lower(d.pending)));
  perform inbox.advance_lanes(v_lane_handler, v_lane_sequence, v_lanes);
end
$$;
