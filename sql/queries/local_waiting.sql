-- The number of enqueued events above number $1 in each local topic, counted up to $2 in total. No locks. Index:
-- primary key of local_event.
select l.shard_id, count(*)
from (select x.shard_id from inbox.local_event x where x.local_id > $1::bigint order by x.local_id limit $2::bigint) l
group by l.shard_id
