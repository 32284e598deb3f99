-- Turns dead letters $1 into deliveries, first attempt, due now. A run has one handler's events of a shard, in order,
-- spans less than 1,000 offsets and weighs about 8 MiB. A dropped event is restored from the dead letter's copy. Dead
-- letters that a backfill has yet to pass stay, because the backfill may deliver the event. $2 actor, $3 the request.
-- Locks: the dead letters. share_routing and op_dead_lock come first in the same transaction, so that no handler is
-- added or retired meanwhile. Indexes: primary keys of dead_letter and backfill; event_place.
with picked as materialized (
  select x.* from inbox.dead_letter x join inbox.handler h using (handler_id)
  where x.dead_letter_id = any ($1::bigint[]) and h.retired_at is null
    and not exists (
      select from inbox.backfill f
      where f.handler_id = x.handler_id and f.shard_id = x.shard_id and f.next_offset <= x."offset"
        and x."offset" < f.end_offset)
  order by x.dead_letter_id for update of x),
stored as materialized (
  select p.dead_letter_id, e.received_at
  from picked p
  cross join lateral (
    select max(e.received_at) as received_at from inbox.event e
    where e.shard_id = p.shard_id and e."offset" = p."offset" and e.event_id = p.event_id) e),
weighed as (
  select p.*,
         (sum(p.bytes) over (partition by p.handler_id, p.shard_id order by p."offset") - p.bytes) / 8388608 as bite
  from (select picked.*, coalesce(octet_length(key), 0) + coalesce(octet_length(payload), 0)
                         + coalesce(octet_length(headers), 0) as bytes from picked) p),
moment as materialized (select clock_timestamp() as now),
restored as (
  insert into inbox.event (shard_id, "offset", event_id, source_id, event_type, source, subject, key, payload, headers,
                           occurred_at, kafka_timestamp, received_at)
  select distinct on (p.shard_id, p."offset")
         p.shard_id, p."offset", p.event_id, p.source_id, p.event_type, p.source, p.subject, p.key, p.payload,
         p.headers,
         p.occurred_at, p.kafka_timestamp, m.now
  from picked p join stored s using (dead_letter_id) cross join moment m
  where s.received_at is null
  order by p.shard_id, p."offset"
  returning 1),
born as (
  insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, received_to)
  select p.handler_id, p.shard_id, range_agg(int8range(p."offset", p."offset" + 1)), count(*), min(m.now),
         min(coalesce(s.received_at, m.now)), max(coalesce(s.received_at, m.now))
  from weighed p join stored s using (dead_letter_id) cross join moment m
  group by p.handler_id, p.shard_id, p."offset" / 1000, p.bite
  order by p.handler_id, p.shard_id, min(p."offset")),
removed as (
  delete from inbox.dead_letter x using picked p where x.dead_letter_id = p.dead_letter_id),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'dead replay', $3::text,
         jsonb_build_object('events', count(*), 'event_ids', jsonb_agg(distinct event_id))
  from picked having count(*) > 0)
select (select count(*) from picked), (select count(*) from restored)
