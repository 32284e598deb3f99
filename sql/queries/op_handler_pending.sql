-- Handler $1 by name: whether it is retired, its pending events, and the daemons (seen within $2 seconds) that have it
-- in their configuration. No locks. Index: delivery_due.
select h.handler_id, h.retired_at is not null,
       (select coalesce(sum(d.events), 0)::bigint from inbox.delivery d where d.handler_id = h.handler_id),
       (select coalesce(sum(b.end_offset - b.next_offset), 0)::bigint from (
          select f.next_offset, f.end_offset from inbox.backfill f where f.handler_id = h.handler_id
          union all
          select g.next_offset, g.end_offset from inbox.backfill_range g where g.handler_id = h.handler_id) b),
       array(select i.host || ' (process ' || i.process_id || ')' from inbox.instance i
             where i.stopped_at is null and h.handler_id = any (i.handlers || i.registered)
               and i.last_seen_at > clock_timestamp() - $2::int * interval '1 s'
             order by i.host, i.process_id)
from inbox.handler h where h.name = $1::text
