-- Bytes of each table and day, with indexes and TOAST, the oldest day first; for how many seconds the day (UTC) has
-- been over, negative: not yet. Each table is locked for reading while it is measured.
select coalesce(p.relname, c.relname), to_char(d.day, 'YYYY-MM-DD'), sum(s.bytes)::bigint,
       extract(epoch from clock_timestamp() - (d.day + 1)::timestamp at time zone 'UTC')::bigint
from pg_class c
left join pg_inherits i on i.inhrelid = c.oid
left join pg_class p on p.oid = i.inhparent
cross join lateral (select to_date(substring(c.relname from '_([0-9]{8})$'), 'YYYYMMDD') as day) d
cross join lateral (select pg_total_relation_size(c.oid) as bytes) s
where c.relnamespace = (select r.relnamespace from pg_class r where r.oid = 'inbox.routing'::regclass)
  and c.relkind = 'r' and s.bytes is not null
group by 1, d.day order by 1, 2 nulls first
