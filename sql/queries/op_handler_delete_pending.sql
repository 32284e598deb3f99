-- Deletes a chunk of $2 pending deliveries of retired handler $1, except locked rows. Its backfills go first, because
-- they create deliveries. Does nothing if the handler is no longer retired. Locks: the rows. Index: delivery_due.
with retired as (
  select handler_id from inbox.handler where handler_id = $1::int and retired_at is not null),
history as (
  delete from inbox.backfill b using retired r where b.handler_id = r.handler_id),
request as (
  delete from inbox.backfill_request q using retired r where q.handler_id = r.handler_id),
bite as materialized (
  select d.delivery_id from inbox.delivery d where d.handler_id = (select handler_id from retired)
  order by d.due_at limit $2::int for update skip locked),
gone as (
  delete from inbox.delivery d using bite where d.delivery_id = bite.delivery_id returning d.events)
select count(*), coalesce(sum(events), 0)::bigint from gone
