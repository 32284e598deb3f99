-- When the first day from today on begins, in UTC, that one of the tables of days has no partition for: seconds since
-- 1970. Locks: none. Reads the catalogue by its index on names. (No more than 400 days ahead are ever made.)
select extract(epoch from min(d.day))::bigint
from (select (statement_timestamp() at time zone 'UTC')::date + n as day from generate_series(0, 402) n) d
cross join unnest(array['event', 'outcome', 'failure']) t
where to_regclass(format('inbox.%I', t || '_' || to_char(d.day, 'YYYYMMDD'))) is null
