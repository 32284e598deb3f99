-- Gives back, uncharged and due now, what batches with fences $2 were born with for handlers $3, leased to $1: batches
-- whose COMMIT was in doubt and is known now, so that nobody has what they were born with in hand. Locks: the rows, in
-- order of id. Index: delivery_due, of leases that have not run out.
with mine as materialized (
  select d.delivery_id from inbox.delivery d
  where d.handler_id = any ($3::int[]) and d.due_at > statement_timestamp() and d.owner = $1::uuid
    and d.fence = any ($2::bigint[])
  order by d.delivery_id for update of d)
update inbox.delivery d
set owner = null, fence = 0, claims = greatest(d.claims - 1, 0), due_at = clock_timestamp()
from mine where d.delivery_id = mine.delivery_id and d.delivery_id = any (array(select mine.delivery_id from mine))
