-- Counts the events that dead letters $1 park and that are not in $1. No locks. Indexes: primary key of dead_letter;
-- dead_letter_lane.
select count(*)
from inbox.dead_letter x
join inbox.dead_letter p on p.handler_id = x.handler_id and p.sequence = x.sequence and p.lane = x.lane
where x.dead_letter_id = any ($1::bigint[]) and x.parks and p.state = 'parked'
  and p.dead_letter_id <> all ($1::bigint[])
