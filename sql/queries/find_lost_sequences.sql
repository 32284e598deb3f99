-- Which of sequences $3 of handler $1, with fences $4, process $2 no longer has: another process owns them, or a replay
-- has put events back into their lanes. No locks. Index: primary key of sequence.
select k.sequence, k.fence
from unnest($3::int[], $4::bigint[]) k(sequence, fence)
where not exists (
  select from inbox.sequence s
  where s.handler_id = $1::int and s.sequence = k.sequence and s.fence = k.fence and s.owner = $2::uuid)
