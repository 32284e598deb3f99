-- Whether the database knows handlers $1 (ids) as they were changed under versions $2, or later: not where it was set
-- back behind that. Each by its own version: that of routing moves on with whichever handler comes first afterwards. No
-- locks. Index: primary key of handler.
select not exists (
  select from unnest($1::int[], $2::bigint[]) ours(id, changed_under)
  where not exists (
    select from inbox.handler h where h.handler_id = ours.id and h.changed_under >= ours.changed_under))
