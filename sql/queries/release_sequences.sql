-- Ends the leases of $2 on sequences $3 of handler $1, with fences $4. Their deliveries are released before. Locks: the
-- rows. Index: primary key of sequence.
update inbox.sequence s set owner = null, fence = 0, leased_until = null, wanted_by = null
from unnest($3::int[], $4::bigint[]) k(sequence, fence)
where s.handler_id = $1::int and s.sequence = k.sequence and s.sequence = any ($3::int[]) and s.fence = k.fence
  and s.owner = $2::uuid
