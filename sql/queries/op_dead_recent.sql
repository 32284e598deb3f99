-- Dead letters of the last hour by handler, at most $1 of each, for `status`: their number, the numbers of the last
-- minute and of the last ten, the first and the most frequent error class. Reads no column with content of events. No
-- locks. Index: dead_letter_handler.
select h.handler_id, r.letters, r.of_minute, r.of_ten, (extract(epoch from r.first_at) * 1000000)::bigint,
       coalesce(r.error_class, ''), r.of_class
from inbox.handler h
cross join lateral (
  select sum(c.letters)::bigint as letters, sum(c.of_minute)::bigint as of_minute, sum(c.of_ten)::bigint as of_ten,
         min(c.first_at) as first_at, (array_agg(c.error_class order by c.letters desc))[1] as error_class,
         max(c.letters) as of_class
  from (
    select x.error_class, count(*) as letters, min(x.died_at) as first_at,
           count(*) filter (where x.died_at > statement_timestamp() - interval '1 minute') as of_minute,
           count(*) filter (where x.died_at > statement_timestamp() - interval '10 minutes') as of_ten
    from (select l.died_at, l.error_class
          from inbox.dead_letter l
          where l.handler_id = h.handler_id and l.died_at > statement_timestamp() - interval '1 hour'
            and l.state = 'dead'
          order by l.died_at desc limit $1::bigint) x
    group by x.error_class) c) r
where h.retired_at is null and r.letters > 0
