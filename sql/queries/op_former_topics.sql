-- Earlier subscriptions of live handlers to topics, which ended within the last $1 seconds, then the present
-- subscription (until null), and the last backfill requested for the handler (without --from: since 1970). In order. No
-- locks.
select h.handler_id, h.name, f.until, f.topics, (extract(epoch from greatest(r.from_time, 'epoch')) * 1000000)::bigint,
       (extract(epoch from r.to_time) * 1000000)::bigint, coalesce(r.topics, '{}')
from inbox.handler h
cross join lateral (
  select x.until, x.topics from inbox.former_subscription x
  where x.handler_id = h.handler_id
    and x.until > (extract(epoch from clock_timestamp()) - $1::bigint) * 1000000
  union all select null, h.topics) f
left join inbox.backfill_request r on r.handler_id = h.handler_id and not r.cancelled
where h.retired_at is null
order by h.name, f.until nulls last
