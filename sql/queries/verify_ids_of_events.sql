-- Those of the ids $1 that a stored event has, at any place. No locks. Reads all of event: run for records that would
-- count as missing only.
select distinct e.event_id from unnest($1::uuid[]) x(id) join inbox.event e on e.event_id = x.id
