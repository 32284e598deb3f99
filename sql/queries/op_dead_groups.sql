-- Dead letters counted by $8: `error` (class of the last error), `type` or `handler`; null: by handler and error. The
-- largest groups first, at most $9; the last column counts all dead letters. $1 to $7 as in op_dead_list. No locks.
-- Index: dead_letter_handler.
select case when coalesce($8::text, 'handler') = 'handler' then h.name end as handler,
       case when coalesce($8::text, 'error') = 'error' then coalesce(x.reasons -> -1 ->> 'error_class', '') end
         as error_class,
       case when $8::text = 'type' then x.event_type end as event_type, count(*) as dead,
       (extract(epoch from min(x.died_at)) * 1000000)::bigint as first_died_at,
       (extract(epoch from max(x.died_at)) * 1000000)::bigint as last_died_at, (sum(count(*)) over ())::bigint as total
from inbox.dead_letter x join inbox.handler h using (handler_id)
where ($1::text is null or h.name = $1::text)
  and (cardinality($2::text[]) = 0 or x.event_type like any ($2::text[]))
  and (cardinality($3::text[]) = 0 or coalesce(x.reasons -> -1 ->> 'error_class', '') like any ($3::text[]))
  and ($4::text is null or position(lower($4::text) in lower(coalesce(x.reasons -> -1 ->> 'message', ''))) > 0)
  and ($5::bigint is null or x.died_at >= 'epoch'::timestamptz + $5::bigint * interval '1 us')
  and ($6::bigint is null or x.died_at < 'epoch'::timestamptz + $6::bigint * interval '1 us')
  and ($7::bytea is null or x.key = $7::bytea)
group by 1, 2, 3
order by 4 desc, 1, 2, 3 limit $9::bigint
