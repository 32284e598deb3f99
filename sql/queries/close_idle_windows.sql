-- For `run --until-idle`: the windows of batch handlers $1 close as soon as their owner looks, if events wait and the
-- last window has ended. Locks: the windows' rows. Index: delivery_order.
update inbox.batch_window w set asked_at = clock_timestamp()
from inbox.handler h
where h.handler_id = w.handler_id and h.mode = 'batch' and h.name = any ($1::text[]) and w.asked_at is null
  and (w.closed_at is null or w.ended_at is not null)
  and exists (
    select from inbox.delivery d
    where d.handler_id = h.handler_id and d.sequence = 0 and d.lane is null and d.owner is null
      and (d.due_at = 'infinity' or d.due_at <= clock_timestamp()))
