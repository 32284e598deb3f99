-- Gives the sequences of process $1 another fence, as a replay does: the server was started or replaced, and may have
-- lost commits that the process remembers. With the former fences it leases nothing more; it drains the sequences and
-- takes them again, which ends the leases of deliveries that it has settled and forgotten. Until then it stays their
-- owner: another process would run events beside its running calls. Locks: the sequences, in order.
with owned as materialized (
  select s.handler_id, s.sequence from inbox.sequence s
  where s.owner = $1::uuid order by s.handler_id, s.sequence for no key update of s)
update inbox.sequence s set fence = hashtextextended(gen_random_uuid()::text, 0)
from owned o where s.handler_id = o.handler_id and s.sequence = o.sequence
