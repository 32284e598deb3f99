-- The messages with ids from $1 to $2 (gaps in the ids that were read) and above $3, in order: up to $4 of them, and up
-- to $5 bytes. The last column: they wait for a stopped message. No locks. Indexes: primary keys.
select t.outbox_id, t.message_id, t.topic, t.key, t.payload, t.headers, t.published_at, t.behind
from (
  select o.*, sum(coalesce(length(o.key), 0)::bigint + coalesce(length(o.payload), 0) + coalesce(length(o.headers), 0))
           over (rows between unbounded preceding and 1 preceding) as before,
         (select exists (select from inbox.outbox_lane)) and exists (
           select from inbox.outbox_lane l
           where l.lane = any (array[inbox.outbox_lane_of(o.topic, null), inbox.outbox_lane_of(o.topic, o.key)])
         ) as behind
  from (
    (select o.* from unnest($1::bigint[], $2::bigint[]) h(first, last)
     cross join lateral (
       select o.* from inbox.outbox o where o.outbox_id >= h.first and o.outbox_id <= h.last order by o.outbox_id
       limit $4::int) o
     limit $4::int)
    union all
    (select o.* from inbox.outbox o where o.outbox_id > $3::bigint order by o.outbox_id limit $4::int)
    limit $4::int) o) t
where coalesce(t.before, 0) < $5::bigint
