-- Handler $1 by name, for `handlers backfill`: its id, whether it is retired, the daemons (seen within $2 seconds) that
-- have it in their configuration, and its last request: whether it has ended, whether it was cancelled, offsets in all
-- and left, events and dead letters so far; null: none. No locks. Indexes: primary keys of both tables.
select h.handler_id, h.retired_at is not null,
       array(select i.host || ' (process ' || i.process_id || ')' from inbox.instance i
             where i.stopped_at is null and h.handler_id = any (i.handlers || i.registered)
               and i.last_seen_at > clock_timestamp() - $2::int * interval '1 s'
             order by i.host, i.process_id),
       q.ended_at is not null, coalesce(q.cancelled, false), coalesce(q.offsets, 0),
       (select coalesce(sum(g.end_offset - g.next_offset), 0)::bigint from inbox.backfill_range g
        where g.handler_id = h.handler_id),
       coalesce(q.delivered_events, 0), coalesce(q.deleted_letters, 0)
from inbox.handler h left join inbox.backfill_request q using (handler_id)
where h.name = $1::text
