-- Extends the leases of $2 on sequences $3 of handler $1, with fences $4, by $5 ms. Also if their fence was changed:
-- the owner drains them, and no other process may begin events beside its running calls. The second column: another
-- instance has the partition and waits. The third: the fence, if it is another. Locks: the rows, in order. Index:
-- primary key of sequence.
with mine as materialized (
  select s.sequence, nullif(s.fence, k.fence) as other_fence
  from inbox.sequence s join unnest($3::int[], $4::bigint[]) k(sequence, fence) on s.sequence = k.sequence
  where s.handler_id = $1::int and s.sequence = any ($3::int[]) and s.owner = $2::uuid
  order by s.sequence for no key update of s)
update inbox.sequence s set leased_until = clock_timestamp() + $5::bigint * interval '1 ms'
from mine where s.handler_id = $1::int and s.sequence = mine.sequence and s.sequence = any ($3::int[])
returning s.sequence, s.wanted_by is not null, mine.other_fence
