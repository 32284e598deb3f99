-- Retires a handler $1: nothing more is owed to it from the next routing version on; noted in audit, with what it was
-- owed. $2 actor, $3 events and $4 offsets of history that it was owed. No row where it is retired already. Called with
-- routing locked. Locks: its row.
with retired as (
  update inbox.handler set retired_at = clock_timestamp()
  where handler_id = $1::int and retired_at is null
  returning *),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'handlers retire', r.name,
         jsonb_build_object('topics', r.topics, 'types', r.types, 'events', $3::bigint, 'backfill', $4::bigint)
  from retired r)
select handler_id from retired
