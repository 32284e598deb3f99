-- What the configuration says of a known handler now, $7 since which version; noted in audit, with what was before.
with old as (
  select * from inbox.handler where handler_id = $1::int),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $6::text, 'handlers change', $2::text,
         jsonb_build_object(
           'old', jsonb_build_object('name', o.name, 'aliases', o.aliases, 'topics', o.topics, 'types', o.types),
           'new', jsonb_build_object('name', $2::text, 'aliases', $3::text[], 'topics', $4::text[],
                                     'types', $5::text[]))
  from old o)
update inbox.handler
set name = $2::text, aliases = $3::text[], topics = $4::text[], types = $5::text[], changed_under = $7::bigint
where handler_id = $1::int
