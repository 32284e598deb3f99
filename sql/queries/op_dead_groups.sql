-- Dead letters counted by handler and class of the last error; $1 to $6 as in op_dead_list. No locks. Index:
-- dead_letter_handler.
select h.name, coalesce(x.reasons -> -1 ->> 'error_class', '') as error_class, count(*),
       (extract(epoch from min(x.died_at)) * 1000000)::bigint, (extract(epoch from max(x.died_at)) * 1000000)::bigint
from inbox.dead_letter x join inbox.handler h using (handler_id)
where ($1::text is null or h.name = $1::text or $1::text = any (h.aliases))
  and (cardinality($2::text[]) = 0 or x.event_type like any ($2::text[]))
  and (cardinality($3::text[]) = 0 or coalesce(x.reasons -> -1 ->> 'error_class', '') like any ($3::text[]))
  and ($4::text is null or position(lower($4::text) in lower(coalesce(x.reasons -> -1 ->> 'message', ''))) > 0)
  and ($5::bigint is null or x.died_at >= 'epoch'::timestamptz + $5::bigint * interval '1 us')
  and ($6::bigint is null or x.died_at < 'epoch'::timestamptz + $6::bigint * interval '1 us')
group by 1, 2
order by 3 desc, 1, 2 limit 1000
