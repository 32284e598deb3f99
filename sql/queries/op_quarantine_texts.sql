-- Records quarantined within the last hour by topic, of the newest $1: the last detail, and whether all are tombstones,
-- for callers who may see content of records. No locks. Index: primary key of quarantine.
select s.topic, (array_agg(q.detail order by q.received_at desc))[1], bool_and(q.payload is null and q.payload_size = 0)
from (select * from inbox.quarantine x order by x.quarantine_id desc limit $1::bigint) q
join inbox.shard s using (shard_id)
where q.received_at > statement_timestamp() - interval '1 hour'
group by s.topic
