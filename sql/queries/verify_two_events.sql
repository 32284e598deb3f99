-- Records of shard $1 with offsets from $2 to $3 (exclusive) that are stored twice: two rows of event have the offset,
-- with different ids, and the ledger has both. The topic's id rule has changed, and the record was read again. Or the
-- same row is there twice. At most $4 rows, with the number of all. No locks. Indexes: event_place; primary key of
-- ledger.
with doubled as materialized (
  select e."offset" from inbox.event e
  where e.shard_id = $1::int and e."offset" >= $2::bigint and e."offset" < $3::bigint
  group by e."offset" having count(*) > 1),
known as (
  select e."offset", array_agg(e.event_id order by e.received_at desc) as ids, max(e.received_at) as received_at
  from doubled d
  join inbox.event e on e.shard_id = $1::int and e."offset" = d."offset"
  join inbox.ledger l on l.event_id = e.event_id
  group by e."offset"
  having count(distinct e.event_id) > 1 or count(distinct (e.event_id, e.received_at)) < count(*))
select count(*) over (), null::text, s.topic, s.partition, k."offset", k.ids[1],
       (extract(epoch from k.received_at) * 1000000)::bigint,
       case when k.ids[1] = k.ids[cardinality(k.ids)] then 'its row is there ' || cardinality(k.ids) || ' times'
            else 'also stored as ' || k.ids[cardinality(k.ids)] end
from known k join inbox.shard s on s.shard_id = $1::int
order by k."offset"
limit $4::int
