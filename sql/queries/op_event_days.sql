-- The days for which events have partitions, newest first, from the catalogue. No locks.
select (extract(epoch from day) * 1000000)::bigint
from pg_inherits i
join pg_class c on c.oid = i.inhrelid
cross join lateral (select to_date(substring(c.relname from '_([0-9]{8})$'), 'YYYYMMDD')::timestamp as day) d
where i.inhparent = 'inbox.event'::regclass and day <= timezone('UTC', clock_timestamp())
order by day desc
