-- Ends the leases of $2 on sequences $3 of handler $1, with fences $4. Their deliveries are released before. Locks: the
-- rows, in order. Index: primary key of sequence.
with mine as materialized (
  select s.sequence
  from inbox.sequence s join unnest($3::int[], $4::bigint[]) k(sequence, fence) on s.sequence = k.sequence
  where s.handler_id = $1::int and s.sequence = any ($3::int[]) and s.fence = k.fence and s.owner = $2::uuid
  order by s.sequence for no key update of s)
update inbox.sequence s set owner = null, fence = 0, leased_until = null, wanted_by = null
from mine where s.handler_id = $1::int and s.sequence = mine.sequence and s.sequence = any ($3::int[])
