-- Events with key $3 among the next $4 events of shard $1 after offset $2. Each row has the last offset looked at, and
-- whether a handler has the event leased. If no event has the key there is a row without an event. No locks.
-- Index: event_place. event has no index by key: such an index would slow ingest for a command that runs seldom.
with near as materialized (
  select e."offset", e.received_at, e.key = $3::bytea as is_of_key
  from inbox.event e where e.shard_id = $1::int and e."offset" > $2::bigint order by e."offset" limit $4::int)
select (select max("offset") from near), n."offset", (extract(epoch from n.received_at) * 1000000)::bigint,
       exists (select from inbox.delivery d
               where d.shard_id = $1::int and d.pending @> n."offset" and d.owner is not null
                 and (d.sequence is not null or d.due_at > clock_timestamp()))
from (select) one left join near n on n.is_of_key
order by n."offset"
