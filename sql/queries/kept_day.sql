-- The oldest day of events that is past its retention ($1 ms) and still needed (inbox.is_day_needed), and the handlers
-- with pending deliveries of it or a backfill. No locks. Reads all of delivery if there is such a day.
select day.relname,
       (select string_agg(h.name, ', ' order by h.name) from inbox.handler h
        where h.handler_id in (select d.handler_id from inbox.delivery d
                               where d.received_from < day.ends and d.received_to >= day.ends - interval '1 day')
           or h.handler_id in (select f.handler_id from inbox.backfill f)) as handlers
from (
  select c.relname, (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp at time zone 'UTC' as ends
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'inbox.event'::regclass and c.relname ~ '^event_[0-9]{8}$'
  order by c.relname limit 1) day
where day.ends <= clock_timestamp() - $1::bigint * interval '1 ms'
