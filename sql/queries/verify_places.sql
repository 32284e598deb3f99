-- Events and quarantined records of shard $1 with offsets from $2 to $3 (exclusive), by offset, with the content of
-- events. No locks. Indexes: event_place of all days; quarantine_place.
select e."offset", true as is_event, e.forgotten_at is not null as is_forgotten, e.key, e.payload
from inbox.event e
where e.shard_id = $1::int and e."offset" >= $2::bigint and e."offset" < $3::bigint
union all
select q."offset", false, false, null, null
from inbox.quarantine q
where q.shard_id = $1::int and q."offset" >= $2::bigint and q."offset" < $3::bigint
order by 1
