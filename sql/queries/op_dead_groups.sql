-- Dead letters counted by $8: `error` (class of the last error), `type` or `handler`; null: by handler and error. The
-- largest groups first, at most $9. note: the newest by `dead note`, of groups by handler and error. last_day: the
-- numbers of the last 24 hours by age in hours; `total` counts all dead letters. $1 to $7 as in op_dead_list. No
-- locks. Index: dead_letter_handler, audit_note.
with counted as (
  select case when coalesce($8::text, 'handler') = 'handler' then h.name end as handler,
         case when coalesce($8::text, 'error') = 'error' then coalesce(x.reasons -> -1 ->> 'error_class', '') end
           as error_class,
         case when $8::text = 'type' then x.event_type end as event_type,
         case when x.died_at > statement_timestamp() - interval '24 hours'
           then greatest(0, floor(extract(epoch from statement_timestamp() - x.died_at) / 3600)::int) end as hours_ago,
         count(*) as dead, min(x.died_at) as first_died_at, max(x.died_at) as last_died_at
  from inbox.dead_letter x join inbox.handler h using (handler_id)
  where ($1::text is null or h.name = $1::text)
    and (cardinality($2::text[]) = 0 or x.event_type like any ($2::text[]))
    and (cardinality($3::text[]) = 0 or coalesce(x.reasons -> -1 ->> 'error_class', '') like any ($3::text[]))
    and ($4::text is null or position(lower($4::text) in lower(coalesce(x.reasons -> -1 ->> 'message', ''))) > 0)
    and ($5::bigint is null or x.died_at >= 'epoch'::timestamptz + $5::bigint * interval '1 us')
    and ($6::bigint is null or x.died_at < 'epoch'::timestamptz + $6::bigint * interval '1 us')
    and ($7::bytea is null or x.key = $7::bytea)
  group by 1, 2, 3, 4),
grouped as (
  select handler, error_class, event_type, sum(dead)::bigint as dead,
         (extract(epoch from min(first_died_at)) * 1000000)::bigint as first_died_at,
         (extract(epoch from max(last_died_at)) * 1000000)::bigint as last_died_at,
         coalesce(jsonb_object_agg(hours_ago, dead) filter (where hours_ago is not null), '{}')::text as last_day,
         (sum(sum(dead)) over ())::bigint as total
  from counted
  group by 1, 2, 3
  order by 4 desc, 1, 2, 3 limit $9::bigint)
select g.*, n.note, n.noted_by, n.noted_at
from grouped g left join lateral (
  select nullif(u.detail ->> 'note', '') as note, u.actor as noted_by,
         (extract(epoch from u.occurred_at) * 1000000)::bigint as noted_at
  from inbox.audit u
  where u.operation = 'dead note' and u.detail ->> 'handler' = g.handler and u.detail ->> 'error_class' = g.error_class
  order by u.audit_id desc limit 1) n on n.note is not null
order by g.dead desc, g.handler, g.error_class, g.event_type
