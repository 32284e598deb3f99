-- Blocked keys by handler, among its first $1 rows of lanes, for `status`: their number, and the key with most events
-- behind its failed or deferred one. No locks. Index: delivery_lane.
select h.handler_id, b.keys, b.events, inbox.text_or_null(b.order_key), coalesce(b.last_error, ''),
       (extract(epoch from b.received_from) * 1000000)::bigint
from inbox.handler h
cross join lateral (
  select count(*) over () as keys, k.events, k.order_key, k.last_error, k.received_from
  from (
    select sum(d.events)::bigint - 1 as events, (array_agg(d.order_key))[1] as order_key,
           max(d.last_error) as last_error, min(d.received_from) as received_from
    from (select * from inbox.delivery x where x.handler_id = h.handler_id and x.lane is not null
          order by x.sequence, x.lane limit $1::bigint) d
    group by d.sequence, d.lane
    having max(d.attempts) > 0 or max(d.last_error) is not null) k
  order by k.events desc limit 1) b
where h.retired_at is null
