-- Pending events of handlers, by names or aliases, plus ranges left to backfill. No locks. Reads their rows of
-- delivery.
select coalesce((select sum(d.events) from inbox.delivery d join inbox.handler h using (handler_id)
                 where h.name = any ($1::text[]) or h.aliases && $1::text[]), 0)
     + (select count(*) from inbox.backfill b join inbox.handler h using (handler_id)
        where h.name = any ($1::text[]) or h.aliases && $1::text[])
     + (select count(*) from inbox.backfill_range g join inbox.handler h using (handler_id)
        where h.name = any ($1::text[]) or h.aliases && $1::text[])
