-- As verify_places, for a role that may not read the content of events: each event counts as forgotten. No locks.
-- Indexes: event_place of all days; quarantine_place.
select e."offset", true as is_event, true as is_forgotten, null::bytea, null::bytea, e.event_id
from inbox.event e
where e.shard_id = $1::int and e."offset" >= lower($2::int8multirange) and e."offset" < upper($2::int8multirange)
  and $2::int8multirange @> e."offset"
union all
select q."offset", false, false, null, null, null
from inbox.quarantine q
where q.shard_id = $1::int and q."offset" >= lower($2::int8multirange) and q."offset" < upper($2::int8multirange)
  and $2::int8multirange @> q."offset"
order by 1
