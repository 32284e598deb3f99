-- Releases leases uncharged, due now (in a sequence: in its turn), as if they had never been claimed. Locks: the rows,
-- in order of id. Index: primary key of delivery.
with mine as materialized (
  select d.delivery_id
  from inbox.delivery d join unnest($2::bigint[], $3::bigint[]) k(id, fence) on d.delivery_id = k.id
  where d.delivery_id = any ($2::bigint[]) and d.fence = k.fence and d.owner = $1::uuid
  order by d.delivery_id for update of d)
update inbox.delivery d
set owner = null, fence = 0, claims = greatest(d.claims - 1, 0),
    due_at = case when d.sequence is null or d.lane is not null then clock_timestamp() else 'infinity' end
from mine where d.delivery_id = mine.delivery_id and d.delivery_id = any ($2::bigint[])
