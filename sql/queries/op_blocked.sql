-- Blocked keys by handler, among its first $1 rows of lanes, for `status`: their number, and the events after the
-- failed or deferred event of the key with most events. A key that waits for a deliver_at is not blocked. Reads no
-- column with content of events. No locks. Index: delivery_lane.
select h.handler_id, b.keys, b.events, (extract(epoch from b.received_from) * 1000000)::bigint
from inbox.handler h
cross join lateral (
  select count(*) over () as keys, k.events, k.received_from
  from (
    select sum(d.events)::bigint - 1 as events, min(d.received_from) as received_from
    from (select x.sequence, x.lane, x.events, x.attempts, x.due_at, x.postponed, x.received_from from inbox.delivery x
          where x.handler_id = h.handler_id and x.lane is not null
          order by x.sequence, x.lane limit $1::bigint) d
    group by d.sequence, d.lane
    having max(d.attempts) > 0 or min(d.due_at) > clock_timestamp() and not bool_or(d.postponed)) k
  order by k.events desc limit 1) b
where h.retired_at is null
