-- Changes a known handler to its present configuration, under version $7; recorded in audit with the old values. Called
-- after next_routing_version, whose version ends the old subscription. Locks: its row.
with old as (
  select * from inbox.handler where handler_id = $1::int),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $6::text, 'handlers change', $2::text,
         jsonb_build_object(
           'old', jsonb_build_object('name', o.name, 'aliases', o.aliases, 'topics', o.topics, 'types', o.types,
                                     'mode', o.mode, 'order_scope', o.order_scope,
                                     'order_settings', o.order_settings),
           'new', jsonb_build_object('name', $2::text, 'aliases', $3::text[], 'topics', $4::text[],
                                     'types', $5::text[], 'mode', $8::text, 'order_scope', $9::text,
                                     'order_settings', $10::text))
  from old o),
former as (
  insert into inbox.former_subscription (handler_id, until, topics, types)
  select o.handler_id, r.version, o.topics, o.types
  from old o cross join inbox.routing r
  where o.topics <> $4::text[] or o.types <> $5::text[])
update inbox.handler
set name = $2::text, aliases = $3::text[], topics = $4::text[], types = $5::text[], changed_under = $7::bigint,
    mode = $8::text, order_scope = $9::text, order_settings = $10::text
where handler_id = $1::int
