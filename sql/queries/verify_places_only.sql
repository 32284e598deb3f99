-- As verify_places, for a role that may not read the content of events: each event counts as forgotten. No locks.
-- Indexes: event_place of all days; quarantine_place.
select e."offset", true as is_event, true as is_forgotten, null::bytea, null::bytea
from inbox.event e
where e.shard_id = $1::int and e."offset" >= $2::bigint and e."offset" < $3::bigint
union all
select q."offset", false, false, null, null
from inbox.quarantine q
where q.shard_id = $1::int and q."offset" >= $2::bigint and q."offset" < $3::bigint
order by 1
