-- Retries now the events of handler $1 that failed or were deferred and wait for their next call, of error classes $2
-- (LIKE patterns; none: all), at most $3 deliveries; $4: only counts. In a sequence these are the first rows of lanes.
-- Not events that wait for their deliver_at.
-- Locks: the deliveries, SKIP LOCKED: others take several in another order. Index: delivery_due.
with waiting as materialized (
  select d.delivery_id, d.events from inbox.delivery d
  join inbox.handler h using (handler_id)
  where h.name = $1::text and d.owner is null
    and d.due_at > statement_timestamp() and d.due_at < 'infinity' and not d.postponed
    and (cardinality($2::text[]) = 0 or split_part(coalesce(d.last_error, ''), ': ', 1) like any ($2::text[]))
  order by d.due_at limit $3::bigint),
locked as materialized (
  select d.delivery_id from inbox.delivery d
  where not $4::boolean and d.delivery_id in (select w.delivery_id from waiting w)
  order by d.delivery_id for update skip locked),
retried as (
  update inbox.delivery d set due_at = clock_timestamp()
  from locked l
  where d.delivery_id = l.delivery_id and d.owner is null and d.due_at > clock_timestamp() and d.due_at < 'infinity'
    and not d.postponed
  returning d.events)
select case when $4::boolean then (select count(*) from waiting) else (select count(*) from retried) end,
       coalesce(case when $4::boolean then (select sum(w.events) from waiting w)
                     else (select sum(r.events) from retried r) end, 0)::bigint
