-- Whether the database knows handlers $2, and their registration under version $1: not where it was set back behind
-- it. No locks. Index: primary key of handler.
select r.version >= $1::bigint and not exists (
         select from unnest($2::int[]) ours(id)
         where not exists (select from inbox.handler h where h.handler_id = ours.id))
from inbox.routing r
