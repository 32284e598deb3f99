-- The offsets of partition $1 (TOPIC/PARTITION) that `quarantine discard` has deleted. No locks. Reads all of audit.
select coalesce(range_agg(r), '{}')::text
from inbox.audit a cross join unnest((a.detail -> 'offsets' ->> $1::text)::int8multirange) r
where a.operation = 'quarantine discard'
