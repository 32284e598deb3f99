-- The end of the next $3 events of shard $1 from offset $2 on: the offset after the last of them (null: none), and
-- their number. No locks. Index: event_place of all days.
select max(n."offset") + 1, count(*)
from (select e."offset" from inbox.event e where e.shard_id = $1::int and e."offset" >= $2::bigint
      order by e."offset" limit $3::int) n
