-- A handler that was retired is in a configuration again: a new one in its old row, with what the configuration says of
-- it now, $8 since which version; noted in audit. Called with routing locked. Locks: its row, and those of
-- former_subscription and carried_over, which go.
with old as (
  select * from inbox.handler where handler_id = $1::int),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $6::text, 'handlers add', $2::text,
         jsonb_build_object('aliases', $3::text[], 'topics', $4::text[], 'types', $5::text[], 'start', $7::text,
                            'retired_at', o.retired_at)
  from old o),
former as (
  delete from inbox.former_subscription s using old o where s.handler_id = o.handler_id),
carried_over as (
  delete from inbox.carried_over c using old o where c.handler_id = o.handler_id)
update inbox.handler h
set name = $2::text, aliases = $3::text[], topics = $4::text[], types = $5::text[], started_from = $7::text,
    routing_version = r.version, changed_under = $8::bigint, paused_reason = null, retired_at = null,
    created_at = clock_timestamp()
from inbox.routing r
where h.handler_id = $1::int
returning (extract(epoch from h.created_at) * 1000000)::bigint
