-- Outcomes of an event: shard $1, offset $2, since $3. No run spans more than 10,000 offsets. No locks. Index:
-- outcome_place of the days since.
select h.name, o.outcome, o.attempts, (extract(epoch from o.finished_at) * 1000000)::bigint, i.host, i.process_id
from inbox.outcome o
join inbox.handler h using (handler_id)
left join inbox.instance i on i.instance_id = o.owner
where o.shard_id = $1::int and lower(o.offsets) > $2::bigint - 10000 and lower(o.offsets) <= $2::bigint
  and o.offsets @> $2::bigint
  and o.finished_at >= coalesce('epoch'::timestamptz + $3::bigint * interval '1 us', '-infinity')
order by o.finished_at
