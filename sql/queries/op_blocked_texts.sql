-- By handler, among its first $1 rows of lanes: the key with most events after its failed event, and its error, for
-- callers who may see content of events. No locks. Index: delivery_lane.
select h.handler_id, inbox.text_or_null(b.order_key), coalesce(b.last_error, '')
from inbox.handler h
cross join lateral (
  select (array_agg(d.order_key))[1] as order_key, max(d.last_error) as last_error
  from (select * from inbox.delivery x where x.handler_id = h.handler_id and x.lane is not null
        order by x.sequence, x.lane limit $1::bigint) d
  group by d.sequence, d.lane
  having max(d.attempts) > 0 or min(d.due_at) > clock_timestamp() and not bool_or(d.postponed)
  order by sum(d.events) desc limit 1) b
where h.retired_at is null
