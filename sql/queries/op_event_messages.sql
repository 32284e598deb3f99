-- Messages that handlers $3 may have published for event $2: with ids $1, or as its dead letter. Those that the relay
-- has yet to send, those that wait for a refused message, and those that this inbox has read again from Kafka. No
-- locks. Index: primary key of ledger. Reads all of outbox and outbox_waiting.
with wanted as materialized (
  select unnest($1::uuid[]) as id
  union
  select inbox.message_id($2::uuid, 'dead letter of ' || name) from unnest($3::text[]) name)
select o.message_id, 'to send' as state, o.topic, null::int as partition, null::bigint as "offset",
       (extract(epoch from o.published_at) * 1000000)::bigint as at, null::text as error
from inbox.outbox o join wanted w on w.id = o.message_id
union all
select o.message_id, 'waits', o.topic, null, null, (extract(epoch from o.published_at) * 1000000)::bigint, l.error
from inbox.outbox_waiting o join wanted w on w.id = o.message_id left join inbox.outbox_lane l using (lane)
union all
select g.event_id, 'in Kafka', s.topic, s.partition, g."offset", (extract(epoch from g.received_at) * 1000000)::bigint,
       null
from inbox.ledger g join wanted w on w.id = g.event_id join inbox.shard s using (shard_id)
order by at
