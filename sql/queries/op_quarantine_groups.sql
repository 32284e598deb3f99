-- Quarantined records counted by topic and reason, with the detail of each group's newest record; the largest groups
-- first, at most $5. $1 to $4 as in op_quarantine_list. No locks. Reads all of quarantine, without payloads; index:
-- primary key, for the newest.
select g.topic, g.reason, g.records, n.detail, (extract(epoch from g.first_at) * 1000000)::bigint as first_received_at,
       (extract(epoch from g.last_at) * 1000000)::bigint as last_received_at
from (
  select s.topic, q.reason, count(*) as records, min(q.received_at) as first_at, max(q.received_at) as last_at,
         max(q.quarantine_id) as newest
  from inbox.quarantine q join inbox.shard s using (shard_id)
  where (cardinality($1::text[]) = 0 or s.topic like any ($1::text[]))
    and (cardinality($2::text[]) = 0 or q.reason like any ($2::text[]))
    and ($3::bigint is null or q.received_at >= 'epoch'::timestamptz + $3::bigint * interval '1 us')
    and ($4::bigint is null or q.received_at < 'epoch'::timestamptz + $4::bigint * interval '1 us')
  group by s.topic, q.reason) g
join inbox.quarantine n on n.quarantine_id = g.newest
order by g.records desc, g.topic, g.reason limit $5::bigint
