-- Deliveries with ids from $1 (exclusive) to $2 whose column `events` is not the number of their pending offsets. At
-- most $3 rows, with the number of all. No locks. Index: primary key of delivery.
select count(*) over (), h.name, s.topic, s.partition, lower(d.pending), null::uuid, null::bigint,
       d.delivery_id || ': ' || d.events || ' events, ' || inbox.count_of(d.pending) || ' pending offsets'
from inbox.delivery d left join inbox.handler h using (handler_id) left join inbox.shard s using (shard_id)
where d.delivery_id > $1::bigint and d.delivery_id <= $2::bigint and d.events <> inbox.count_of(d.pending)
order by d.delivery_id
limit $3::int
