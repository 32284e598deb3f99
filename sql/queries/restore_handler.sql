-- Routes to retired handler $1 again, from the present version of routing on; recorded in audit by $2. $3: the version
-- of this change. No row if it is not retired. Called after lock_routing. Locks: its row.
with old as (
  select * from inbox.handler where handler_id = $1::int and retired_at is not null),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'handlers restore', o.name,
         jsonb_build_object('topics', o.topics, 'types', o.types, 'retired_at', o.retired_at)
  from old o)
update inbox.handler h set retired_at = null, changed_under = $3::bigint
from old o where h.handler_id = o.handler_id
returning h.handler_id
