-- Adds to today's counts of resends: $2 of at most $1 seconds after the first, each bound once, ascending. Deletes
-- counts of more than 90 days ago. Locks: its new and changed rows, in order; the deleted rows. Index: primary key of
-- resend_age.
with gone as (
  delete from inbox.resend_age r where r.day < (statement_timestamp() at time zone 'UTC')::date - 90)
insert into inbox.resend_age as r (day, seconds, resends)
select (statement_timestamp() at time zone 'UTC')::date, x.seconds, x.resends
from unnest($1::int[], $2::bigint[]) x(seconds, resends) order by x.seconds
on conflict (day, seconds) do update set resends = r.resends + excluded.resends
