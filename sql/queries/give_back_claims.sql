-- Gives back, uncharged and due now, what claims of this owner took whose answer was lost: $3 their fences, $4 how many
-- milliseconds ago the oldest of them was asked for. Locks: the rows, skipping those that somebody has locked. Index:
-- delivery_due, from then on.
with mine as materialized (
  select d.delivery_id
  from inbox.delivery d
  where d.handler_id = $2::int and d.due_at >= statement_timestamp() - $4::bigint * interval '1 ms'
    and d.owner = $1::uuid and d.fence = any ($3::bigint[])
  for update of d skip locked)
update inbox.delivery d
set owner = null, fence = 0, claims = greatest(d.claims - 1, 0), due_at = clock_timestamp()
from mine where d.delivery_id = mine.delivery_id
  and d.delivery_id = any (array(select mine.delivery_id from mine))
