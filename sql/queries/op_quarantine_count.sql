-- Quarantined records by topic and reason, the largest group first; counts at most $1 records. No locks. Indexes:
-- primary keys.
select s.topic, q.reason, count(*)
from (select x.shard_id, x.reason from inbox.quarantine x limit $1::bigint) q join inbox.shard s using (shard_id)
group by s.topic, q.reason
order by count(*) desc, s.topic, q.reason
