-- Windows and cut keys of handlers that are not in mode batch. At most $1 rows, with the number of all. No locks.
-- Index: delivery_group.
select count(*) over (), f.name, null::text, null::int, null::bigint, null::uuid, null::bigint, f.what
from (
  select h.name, 'a window, in mode ' || h.mode as what
  from inbox.batch_window w join inbox.handler h using (handler_id)
  where h.mode <> 'batch'
  union all
  select h.name, 'deliveries of a window, in mode ' || h.mode from inbox.handler h
  where h.mode <> 'batch' and exists (
    select from inbox.delivery d where d.handler_id = h.handler_id and d.group_key is not null)) f
order by f.name, f.what
limit $1::int
