-- Retires a handler $1: nothing more is owed to it from the next routing version on; noted in audit, with what it was
-- owed. $2 actor, $3 events and $4 offsets of history that it was owed. No row where it is retired already, nor where a
-- daemon that was seen within $5 seconds (null: none is asked about) runs it or has taken it up. Called with routing
-- locked, as handlers are taken up: none comes in between. Locks: its row.
with retired as (
  update inbox.handler set retired_at = clock_timestamp()
  where handler_id = $1::int and retired_at is null
    and not exists (select from inbox.instance i
                    where i.stopped_at is null and $1::int = any (i.handlers || i.taken_up)
                      and i.last_seen_at > clock_timestamp() - $5::int * interval '1 s')
  returning *),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'handlers retire', r.name,
         jsonb_build_object('topics', r.topics, 'types', r.types, 'events', $3::bigint, 'backfill', $4::bigint)
  from retired r)
select handler_id from retired
