-- `handlers run`: the window of batch handler $1 closes as soon as its owner looks, or after the window that runs.
-- Recorded in audit; $2 actor, $3: false: only looks. Returns a row for a handler that is not retired: its mode, the
-- events that the close would have now, whether a window runs, and the daemons that configure it (seen within $4
-- seconds). No row: unknown or retired. Locks: the window's row. Index: delivery_order.
with known as (
  select h.handler_id, h.name, h.mode from inbox.handler h where h.name = $1::text and h.retired_at is null),
asked as (
  insert into inbox.batch_window (handler_id, asked_at)
  select k.handler_id, clock_timestamp() from known k where k.mode = 'batch' and $3::boolean
  on conflict (handler_id) do update set asked_at = excluded.asked_at
  returning handler_id),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'handlers run', k.name, '{}' from known k join asked using (handler_id))
select k.mode,
       (select coalesce(sum(d.events), 0)::bigint from inbox.delivery d
        where d.handler_id = k.handler_id and d.sequence = 0 and d.lane is null and d.owner is null
          and (d.due_at = 'infinity' or d.due_at <= clock_timestamp())
          and not coalesce(w.ended_at is null and inbox.is_in_window(d, w), false)),
       coalesce(w.closed_at is not null and w.ended_at is null, false),
       array(select i.host || ' (process ' || i.process_id || ')' from inbox.instance i
             where i.stopped_at is null and k.handler_id = any (i.handlers || i.registered)
               and i.last_seen_at > clock_timestamp() - $4::int * interval '1 s'
             order by i.host, i.process_id)
from known k left join inbox.batch_window w using (handler_id)
