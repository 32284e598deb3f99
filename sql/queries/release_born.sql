-- Releases, uncharged and due now, deliveries that were born leased to $1 in batches with fences $2, for handlers $3.
-- The COMMIT of these batches was in doubt and turned out done, so that no dispatcher knows their deliveries. Locks:
-- the rows, in order of id. Index: delivery_due, from now on.
with mine as materialized (
  select d.delivery_id from inbox.delivery d
  where d.handler_id = any ($3::int[]) and d.due_at > statement_timestamp() and d.owner = $1::uuid
    and d.fence = any ($2::bigint[])
  order by d.delivery_id for update of d)
update inbox.delivery d
set owner = null, fence = 0, claims = greatest(d.claims - 1, 0),
    due_at = case when d.sequence is null or d.lane is not null then clock_timestamp() else 'infinity' end
from mine where d.delivery_id = mine.delivery_id and d.delivery_id = any (array(select mine.delivery_id from mine))
