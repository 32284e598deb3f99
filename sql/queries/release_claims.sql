-- Releases, uncharged and due now, rows of claims by $1 whose answer was lost: handler $2, fences $3. $4: how many ms
-- ago the oldest of them was sent. Locks: the rows, SKIP LOCKED. Index: delivery_due, from that time on.
with mine as materialized (
  select d.delivery_id
  from inbox.delivery d
  where d.handler_id = $2::int and d.due_at >= statement_timestamp() - $4::bigint * interval '1 ms'
    and d.owner = $1::uuid and d.fence = any ($3::bigint[])
  for update of d skip locked)
update inbox.delivery d
set owner = null, fence = 0, claims = greatest(d.claims - 1, 0),
    due_at = case when d.sequence is null or d.lane is not null then clock_timestamp() else 'infinity' end
from mine where d.delivery_id = mine.delivery_id
  and d.delivery_id = any (array(select mine.delivery_id from mine))
