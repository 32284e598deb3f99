-- Events and quarantined records of shard $1 at the offsets $2, by offset, with the content of events. The bounds of $2
-- are for the indexes: an array of offsets would search each day of events for each of them. No locks. Indexes:
-- event_place of all days; quarantine_place.
select e."offset", true as is_event, e.forgotten_at is not null as is_forgotten, e.key, e.payload, e.event_id
from inbox.event e
where e.shard_id = $1::int and e."offset" >= lower($2::int8multirange) and e."offset" < upper($2::int8multirange)
  and $2::int8multirange @> e."offset"
union all
select q."offset", false, false, null, null, null
from inbox.quarantine q
where q.shard_id = $1::int and q."offset" >= lower($2::int8multirange) and q."offset" < upper($2::int8multirange)
  and $2::int8multirange @> q."offset"
order by 1
