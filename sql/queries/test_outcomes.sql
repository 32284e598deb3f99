-- For `inboxd test`: each handler's state of event $1, and its first failure. Reads few rows. No locks.
select d.handler, d.state, d.attempts, coalesce(f.error, d.last_error, ''), f.error is not null
from inbox.deliveries d
left join lateral (
  select x.error_class || ': ' || x.message as error from inbox.failures x
  where x.event_id = d.event_id and x.handler = d.handler order by x.attempt, x.occurred_at limit 1) f on true
where d.event_id = $1::uuid
order by d.handler
