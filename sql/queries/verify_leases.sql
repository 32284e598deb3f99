-- Deliveries with ids from $1 (exclusive) to $2 that are leased in a sequence which its process does not own. At most
-- $3 rows, with the number of all. No locks. Indexes: primary keys of delivery and sequence.
select count(*) over (), h.name, s.topic, s.partition, lower(d.pending), null::uuid, null::bigint,
       d.delivery_id || ': leased to ' || d.owner || ', the sequence to ' || coalesce(q.owner::text, 'nobody')
from inbox.delivery d
join inbox.handler h using (handler_id)
left join inbox.shard s using (shard_id)
left join inbox.sequence q on q.handler_id = d.handler_id and q.sequence = d.sequence
where d.delivery_id > $1::bigint and d.delivery_id <= $2::bigint and d.sequence is not null and d.owner is not null
  and q.owner is distinct from d.owner
order by d.delivery_id
limit $3::int
