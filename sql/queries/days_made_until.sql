-- The start (UTC) of the first day from today on for which a partition is missing: seconds since 1970. No more than 400
-- days ahead are ever created. Locks: none. Index: names in pg_class.
select extract(epoch from min(d.day))::bigint
from (select (statement_timestamp() at time zone 'UTC')::date + n as day from generate_series(0, 402) n) d
cross join unnest(array['event', 'outcome', 'failure']) t
where to_regclass(format('inbox.%I', t || '_' || to_char(d.day, 'YYYYMMDD'))) is null
