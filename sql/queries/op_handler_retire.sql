-- Retires handler $1: routing version $5 no longer routes to it. Recorded in audit with its pending events $3 and
-- offsets left to backfill $4; $2 actor. No row if it is already retired. Called after lock_routing. Locks: its row.
with retired as (
  update inbox.handler set retired_at = clock_timestamp(), changed_under = $5::bigint
  where handler_id = $1::int and retired_at is null
  returning *),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'handlers retire', r.name,
         jsonb_build_object('topics', r.topics, 'types', r.types, 'events', $3::bigint, 'backfill', $4::bigint)
  from retired r)
select handler_id from retired
