-- Parked events whose key no dead letter parks. At most $1 rows, with the number of all. No locks. Index:
-- dead_letter_parks. Reads all of dead_letter.
select count(*) over (), h.name, s.topic, s.partition, x."offset", x.event_id, null::bigint, x.dead_letter_id::text
from inbox.dead_letter x
join inbox.handler h using (handler_id)
left join inbox.shard s using (shard_id)
where x.state = 'parked' and x.lane is not null
  and not exists (
    select from inbox.dead_letter y
    where y.handler_id = x.handler_id and y.sequence = x.sequence and y.lane = x.lane and y.parks)
order by x.dead_letter_id
limit $1::int
