-- All handlers and the ledger's frozen generations (numbers, keys of their filters) under a single version, in a single
-- snapshot. No locks.
select r.version, h.handler_id, h.name, h.topics, h.types, h.paused_reason, h.mode, h.order_scope, g.generations, g.keys
from inbox.routing r
cross join lateral (
  select array_agg(x.generation order by x.generation) as generations,
         array_agg(x.filter_key order by x.generation) as keys
  from inbox.ledger_generation x where x.frozen_at is not null) g
left join inbox.handler h on h.retired_at is null
order by h.handler_id
