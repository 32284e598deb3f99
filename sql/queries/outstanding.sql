-- Events that are still owed to some handlers, by their names or former ones, and ranges that are still to be
-- back-filled for them. No locks.
select coalesce((select sum(d.events) from inbox.delivery d join inbox.handler h using (handler_id)
                 where h.name = any ($1::text[]) or h.aliases && $1::text[]), 0)
     + (select count(*) from inbox.backfill b join inbox.handler h using (handler_id)
        where h.name = any ($1::text[]) or h.aliases && $1::text[])
