-- Which of lanes $3 of sequences $2 (handler $1) have pending events, and which are parked. No locks. Indexes:
-- delivery_lane, dead_letter_parks.
select exists (select from inbox.delivery d
               where d.handler_id = $1::int and d.sequence = k.sequence and d.lane = k.lane),
       inbox.is_parked($1::int, k.sequence, k.lane)
from unnest($2::int[], $3::bigint[]) with ordinality k(sequence, lane, i)
order by k.i
