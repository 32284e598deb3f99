-- Which of lanes $3 of sequences $2 (handler $1) have pending events, and which are parked. No locks. Indexes:
-- delivery_lane, dead_letter_parks. `limit` makes the planner look up each lane: for `exists` it would hash all of the
-- handler's deliveries.
select (select true from inbox.delivery d
        where d.handler_id = $1::int and d.sequence = k.sequence and d.lane = k.lane limit 1) is not null,
       (select true from inbox.dead_letter x
        where x.handler_id = $1::int and x.sequence = k.sequence and x.lane = k.lane and x.parks limit 1) is not null
from unnest($2::int[], $3::bigint[]) with ordinality k(sequence, lane, i)
order by k.i
