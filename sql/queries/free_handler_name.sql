-- The name $2 of a retired handler goes to another, $1: it is kept under one that no configuration can have, and has no
-- former names any more; noted in audit, $3 by whom. Nothing where nobody has the name. Locks: its row.
with freed as (
  update inbox.handler set name = name || ' (retired ' || handler_id || ')', aliases = '{}'
  where name = $2::text and handler_id <> $1::int and retired_at is not null
  returning name)
insert into inbox.audit (actor, operation, target, detail)
select $3::text, 'handlers change', f.name,
       jsonb_build_object('old', jsonb_build_object('name', $2::text), 'new', jsonb_build_object('name', f.name))
from freed f
