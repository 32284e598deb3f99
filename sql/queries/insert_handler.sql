-- Adds a handler, routed to from the present version of routing on; recorded in audit. $7: its id, random, or the id
-- that it had before the database lost it. $8: the version of its last change. $9 mode, $10 order_scope,
-- $11 all order settings. Called after lock_routing.
with fresh as (
  insert into inbox.handler (handler_id, name, aliases, topics, types, started_from, routing_version, changed_under,
                             mode, order_scope, order_settings)
  select $7::int, $1::text, $2::text[], $3::text[], $4::text[], $5::text, version, $8::bigint, $9::text,
         $10::text, $11::text
  from inbox.routing
  returning *),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $6::text, 'handlers add', f.name,
         jsonb_build_object('aliases', f.aliases, 'topics', f.topics, 'types', f.types, 'start', f.started_from,
                            'mode', f.mode)
  from fresh f)
select (extract(epoch from created_at) * 1000000)::bigint from fresh
