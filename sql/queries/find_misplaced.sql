-- Handlers with pending events or dead letters whose sequence contradicts the handler's mode and order_scope, so that
-- no instance would run them, or not in their turn. It does a look-up for each sequence, whatever the number of rows.
-- No locks. Indexes: delivery_order, delivery_lane, dead_letter_lane; delivery_due for batch handlers.
with recursive present as (
  select h.handler_id, k.kind, -1 as sequence
  from inbox.handler h cross join (values ('rows'), ('lanes'), ('dead letters')) k(kind)
  where h.retired_at is null
  union all
  select p.handler_id, p.kind, case p.kind
           when 'rows' then (select min(d.sequence) from inbox.delivery d
                             where d.handler_id = p.handler_id and d.sequence > p.sequence and d.sequence is not null
                               and d.lane is null)
           when 'lanes' then (select min(d.sequence) from inbox.delivery d
                              where d.handler_id = p.handler_id and d.sequence > p.sequence and d.lane is not null)
           else (select min(x.sequence) from inbox.dead_letter x
                 where x.handler_id = p.handler_id and x.sequence > p.sequence and x.lane is not null) end
  from present p where p.sequence is not null)
select h.handler_id, h.name, h.mode, h.order_scope
from inbox.handler h
where h.retired_at is null and (
  exists (select from present p
          where p.handler_id = h.handler_id and p.sequence >= 0
            and (h.mode = 'single' or h.mode = 'batch' and p.kind <> 'rows'
                 or (h.mode = 'batch' or h.order_scope = 'handler') <> (p.sequence = 0)))
  or h.mode = 'batch' and exists (
    select from inbox.delivery d
    where d.handler_id = h.handler_id and d.due_at < 'infinity' and d.sequence is null))
order by h.name
