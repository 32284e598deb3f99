-- The days for which events have partitions, newest first, from the catalogue, and the days of events in event_kept. No
-- locks. Reads all of event_kept.
select (extract(epoch from day) * 1000000)::bigint
from (
  select to_date(substring(c.relname from '_([0-9]{8})$'), 'YYYYMMDD')::timestamp as day
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'inbox.event'::regclass
  union
  select date_trunc('day', timezone('UTC', k.received_at)) from inbox.event_kept k) d
where day <= timezone('UTC', clock_timestamp())
order by day desc
