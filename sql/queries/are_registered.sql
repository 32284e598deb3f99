-- Whether the database knows handlers $1 (ids), changed under versions $2 or later. Each is compared with its own
-- version, because that of routing moves on with any handler. False after the database lost commits. No locks. Index:
-- primary key of handler.
select not exists (
  select from unnest($1::int[], $2::bigint[]) ours(id, changed_under)
  where not exists (
    select from inbox.handler h where h.handler_id = ours.id and h.changed_under >= ours.changed_under))
