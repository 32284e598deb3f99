-- Handlers that subscribed to event $3 of type $4: shard $1, offset $2, received at $5. Or to another topic on which it
-- came; and whether a back-fill has yet to deliver it. Leaves out handlers that are retired, or were restored or new
-- after it. Returns none for an event that was restored itself, and if outcomes or dead letters of its time may have
-- been deleted: dead letters after $6 milliseconds (null: never). The same rules as in verify_missing_states. No locks.
-- Indexes: primary keys of former_subscription, also_seen, backfill and ledger; audit is read if a handler matches.
with event as (
  select s.topic, 'epoch'::timestamptz + $5::bigint * interval '1 us' as received_at
  from inbox.shard s
  where s.shard_id = $1::int and exists (
    select from inbox.ledger g
    where g.event_id = $3::uuid and g.shard_id = $1::int and g."offset" = $2::bigint
      and g.received_at = 'epoch'::timestamptz + $5::bigint * interval '1 us')),
seen as (
  select e.topic, $4::text as event_type, e.received_at as at from event e
  union all
  select a.topic, a.event_type, a.seen_at from event e cross join inbox.also_seen a
  where a.event_id = $3::uuid and a.shard_id = $1::int and a."offset" = $2::bigint),
subscribed as (
  select h.handler_id, h.name, s.topics, s.types,
         coalesce('epoch'::timestamptz + lag(s.until) over (partition by h.handler_id order by s.until)
                    * interval '1 us', '-infinity') as begun,  -- the first also counts before the handler existed
         coalesce('epoch'::timestamptz + s.until * interval '1 us', 'infinity') as until
  from inbox.handler h
  cross join lateral (
    select f.topics, f.types, f.until from inbox.former_subscription f where f.handler_id = h.handler_id
    union all
    select h.topics, h.types, null) s
  where h.retired_at is null),
first_seen as (
  select distinct on (u.handler_id) u.handler_id, u.name, s.at
  from seen s join subscribed u on s.at >= u.begun and s.at < u.until
    and inbox.matches(s.topic, u.topics) and inbox.matches(s.event_type, u.types)
  order by u.handler_id, s.at)
select f.name, exists (
         select from inbox.backfill b
         where b.handler_id = f.handler_id and b.shard_id = $1::int
           and b.next_offset <= $2::bigint and b.end_offset > $2::bigint)
from first_seen f
join inbox.handler h using (handler_id)
cross join event e
where f.at >= 'epoch'::timestamptz + h.routing_version * interval '1 us'
  and not exists (
    select from inbox.audit a
    where a.operation = 'handlers restore' and a.target = any (h.aliases || h.name) and a.occurred_at > f.at)
  and e.received_at >= (
    select min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp at time zone 'UTC'
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'inbox.outcome'::regclass and c.relname ~ '^outcome_[0-9]{8}$')
  and ($6::bigint is null or e.received_at >= clock_timestamp() - $6::bigint * interval '1 ms')
order by f.name
