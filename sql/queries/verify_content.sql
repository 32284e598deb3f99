-- Key and payload of event $3 at offset $2 of shard $1. No locks. Index: event_place of all days.
select e.key, e.payload from inbox.event e
where e.shard_id = $1::int and e."offset" = $2::bigint and e.event_id = $3::uuid limit 1
