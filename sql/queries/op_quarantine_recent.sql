-- Records quarantined within the last hour by topic, of the newest $1: their number, the first, the most frequent
-- reason, and how many events of the topic were stored since that first record, counted to $2. Reads no column with
-- content of records. No locks. Indexes: primary key of quarantine; event_place of two days.
with newest as materialized (
  select q.shard_id, q.reason, q.received_at
  from (select x.shard_id, x.reason, x.received_at from inbox.quarantine x
        order by x.quarantine_id desc limit $1::bigint) q
  where q.received_at > statement_timestamp() - interval '1 hour'),
topics as (
  select s.topic, count(*) as records, min(n.received_at) as first_at,
         mode() within group (order by n.reason) as reason
  from newest n join inbox.shard s using (shard_id)
  group by s.topic)
select t.topic, t.records, (extract(epoch from t.first_at) * 1000000)::bigint, t.reason,
       (select count(*) from (
          select from inbox.shard s
          cross join lateral (
            select from inbox.event e
            where e.shard_id = s.shard_id and e.received_at >= t.first_at
            order by e."offset" desc limit $2::bigint) e
          where s.topic = t.topic limit $2::bigint) stored)
from topics t
order by t.records desc, t.topic limit 20
