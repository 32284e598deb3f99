-- Runs a chunk of a backfill: the next p_events events (about p_bytes of payload) of a range become deliveries, due
-- now or, except in mode sequential, at their deliver_at. No delivery spans more than 10,000 offsets, the bound by
-- which views find a run. In a sequence history comes first (ordinal 0), and its owner waits for it.
--
-- An event of another topic or type is delivered if it also came on any of the handler's topics and types before the
-- handler was routed to; later duplicates are delivered by inbox.handle_duplicates. The handler's first subscription
-- counts: a change affects only events that are stored after it. Dead letters of these events are deleted, because a
-- replay would deliver the event twice.
--
-- Returns how many events became deliveries and how many dead letters were deleted; nulls if no range is left or others
-- have them locked. Locks: a row of backfill, SKIP LOCKED; the dead letters. Indexes: event_place; (handler_id,
-- shard_id, offset) of dead_letter.
create or replace function inbox.backfill_bite(
  p_events int, p_bytes bigint, out delivered_events bigint, out deleted_letters bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  b record;
  v_seen bigint;
  v_last bigint;
begin
  select f.*, coalesce(s.topics, h.topics) as topics, coalesce(s.types, h.types) as types, h.routing_version, h.mode,
         inbox.sequence_of(h.mode, h.order_scope, f.shard_id) as sequence into b
  from inbox.backfill f join inbox.handler h using (handler_id)
  left join lateral (
    select x.topics, x.types from inbox.former_subscription x
    where x.handler_id = h.handler_id and x.until > h.routing_version order by x.until limit 1) s on true
  order by f.handler_id, f.shard_id limit 1 for update of f skip locked;
  if not found then
    return;
  end if;
  with near as (
    select e."offset", e.event_id, e.event_type, e.received_at,
           coalesce(octet_length(e.payload), 0) + coalesce(octet_length(e.decoded), 0) as size,
           e.forgotten_at is not null as is_forgotten,
           case when b.mode <> 'sequential' and e.deliver_at > clock_timestamp() then e.deliver_at end as due
    from inbox.event e
    where e.shard_id = b.shard_id and e."offset" >= b.next_offset and e."offset" < b.end_offset
    order by e."offset" limit p_events),
  bite as materialized (
    select * from (
      select near.*, sum(size) over (order by "offset") - size as before, min("offset") over () as first from near) x
    where before < p_bytes and "offset" < first + 10000),
  -- Order across shards is that of storing: then each row has the events of a single batch.
  delivered as (
    select range_agg(int8range("offset", "offset" + 1)) as pending, min(received_at) as received_from,
           max(received_at) as received_to, due
    from bite
    where not is_forgotten and case when b.elsewhere or not inbox.matches(event_type, b.types) then exists (
            select from inbox.also_seen s
            where s.event_id = bite.event_id and s.routing_version < b.routing_version
              and inbox.matches(s.topic, b.topics) and inbox.matches(s.event_type, b.types)
              and (b.from_time is null or s.seen_at >= b.from_time))
          else b.from_time is null or received_at >= b.from_time end
    group by case when b.sequence = 0 then received_at end, due),
  born as (
    insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, pending, events, due_at, postponed,
                                received_from, received_to)
    select b.handler_id, b.shard_id, b.sequence, case when b.sequence is not null then 0 end, pending,
           inbox.count_of(pending),
           coalesce(due, case when b.sequence is null then clock_timestamp() else 'infinity' end), due is not null,
           received_from, received_to
    from delivered where pending is not null),
  deleted as (
    delete from inbox.dead_letter x using delivered o
    where x.handler_id = b.handler_id and x.shard_id = b.shard_id and x."offset" >= lower(o.pending)
      and x."offset" < upper(o.pending) and o.pending @> x."offset"
    returning 1)
  select count(*), max("offset"), coalesce((select sum(inbox.count_of(pending)) from delivered), 0),
         (select count(*) from deleted)
  into v_seen, v_last, delivered_events, deleted_letters
  from bite;
  if v_seen = 0 or v_last + 1 >= b.end_offset then
    delete from inbox.backfill where handler_id = b.handler_id and shard_id = b.shard_id;
  else
    update inbox.backfill set next_offset = v_last + 1 where handler_id = b.handler_id and shard_id = b.shard_id;
  end if;
end
$$;
