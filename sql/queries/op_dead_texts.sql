-- Of handlers $1 with error classes $2: the message of the newest dead letter within the last hour, for callers who may
-- see content of events. No locks. Index: dead_letter_handler.
select g.handler_id, d.message
from unnest($1::int[], $2::text[]) g(handler_id, error_class)
cross join lateral (
  select coalesce(l.reasons -> -1 ->> 'message', '') as message
  from inbox.dead_letter l
  where l.handler_id = g.handler_id and l.error_class = g.error_class and l.state = 'dead'
    and l.died_at > statement_timestamp() - interval '1 hour'
  order by l.died_at desc limit 1) d
