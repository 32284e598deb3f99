-- Cancels the `handlers backfill` of handler $1; its deliveries stay. Recorded in audit; $2 actor. No row if it has no
-- range left. Locks: the request, then its ranges: waits for a bite. Indexes: primary keys.
with request as (
  update inbox.backfill_request q set cancelled = true
  where q.handler_id = $1::int and exists (select from inbox.backfill_range g where g.handler_id = q.handler_id)
  returning q.handler_id, q.delivered_events),
gone as (
  delete from inbox.backfill_range g using request r where g.handler_id = r.handler_id),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'handlers backfill --cancel', h.name, jsonb_build_object('events', r.delivered_events)
  from request r join inbox.handler h using (handler_id))
select delivered_events from request
