-- Which of handlers $1 have deliveries that are due, lanes included, and not before $2 (microseconds since 1970; null:
-- at any time). No locks: leased rows whose lease has ended count, and locked rows. Index: delivery_due.
select h.handler_id
from unnest($1::int[], $2::bigint[]) h(handler_id, not_before)
where exists (
  select from inbox.delivery d
  where d.handler_id = h.handler_id and d.due_at <= statement_timestamp()
    and d.due_at >= coalesce('epoch'::timestamptz + h.not_before * interval '1 us', '-infinity'))
