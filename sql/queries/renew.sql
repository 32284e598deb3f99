-- Extends leases by name. Locks: the rows, SKIP LOCKED (locked rows are being settled). Index: primary key of delivery.
with mine as materialized (
  select d.delivery_id
  from inbox.delivery d join unnest($2::bigint[], $3::bigint[]) k(id, fence) on d.delivery_id = k.id
  where d.delivery_id = any ($2::bigint[]) and d.fence = k.fence and d.owner = $1::uuid
  for update of d skip locked)
update inbox.delivery d set due_at = clock_timestamp() + $4::bigint * interval '1 ms'
from mine where d.delivery_id = mine.delivery_id and d.delivery_id = any ($2::bigint[])
