-- The enqueued events with numbers from $1 to $2 (gaps in the numbers that were read) and above $3, in order: up to $4
-- of them, and up to $5 bytes. No locks. Index: primary key of local_event.
select t.local_id, t.shard_id, t.event_id, t.event_type, t.key, t.payload, t.headers, t.occurred_at,
       t.deliver_at, t.source_id, t.source, t.subject
from (
  select l.*, sum(coalesce(length(l.key), 0)::bigint + coalesce(length(l.payload), 0) + coalesce(length(l.headers), 0))
           over (rows between unbounded preceding and 1 preceding) as before
  from (
    (select l.* from unnest($1::bigint[], $2::bigint[]) h(first, last)
     cross join lateral (
       select l.* from inbox.local_event l where l.local_id >= h.first and l.local_id <= h.last order by l.local_id
       limit $4::int) l
     limit $4::int)
    union all
    (select l.* from inbox.local_event l where l.local_id > $3::bigint order by l.local_id limit $4::int)
    limit $4::int) l) t
where coalesce(t.before, 0) < $5::bigint
