-- Ends all leases of $1, on sequences and deliveries, uncharged and due now, as if nothing had been claimed: the server
-- was started or replaced, and may have lost commits that this process remembers. Locks: the sequences, in order, then
-- the deliveries, in order of id. Reads all deliveries.
with owned as materialized (
  select s.handler_id, s.sequence from inbox.sequence s
  where s.owner = $1::uuid order by s.handler_id, s.sequence for no key update of s),
ended as (
  update inbox.sequence s set owner = null, fence = 0, leased_until = null
  from owned o where s.handler_id = o.handler_id and s.sequence = o.sequence
  returning s.sequence),
mine as materialized (
  select d.delivery_id from inbox.delivery d
  where d.owner = $1::uuid and (select count(*) from ended) >= 0
  order by d.delivery_id for update of d)
update inbox.delivery d
set owner = null, fence = 0, claims = greatest(d.claims - 1, 0),
    due_at = case when d.sequence is null or d.lane is not null then clock_timestamp() else 'infinity' end
from mine where d.delivery_id = mine.delivery_id
