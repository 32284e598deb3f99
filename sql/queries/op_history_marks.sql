-- The marks of the last $1 seconds, newest first, at most $2: time (microseconds since 1970), kind, text, actor.
-- $3: with the actors and the targets of all changes, which may quote events; otherwise with names of handlers,
-- partitions and instances only. An instance that was not seen for $4 seconds and did not stop has crashed. No locks.
-- Index: primary key of audit, backwards; its newest $2 rows.
with changes as (
  select u.occurred_at, u.actor, u.operation, u.target from inbox.audit u order by u.audit_id desc limit $2::int),
instances as (
  select i.host || ' (process ' || i.process_id || ')' as name, i.started_at, i.stopped_at, i.last_seen_at
  from inbox.instance i where i.last_seen_at > clock_timestamp() - $1::bigint * interval '1 s'
  order by i.last_seen_at desc limit $2::int),
marks (at, kind, text, who) as (
  select c.occurred_at,
         case when c.operation in ('handlers add', 'handlers change') then 'handlers'
              when c.operation = 'instance reload' then 'reload'
              when c.actor like 'daemon%' and c.operation = 'handlers pause' then 'fault'
              when c.actor like 'daemon%' and c.operation = 'handlers resume' then 'recovered'
              else 'operator' end,
         c.operation || case when $3::boolean or c.operation ~ '^(handlers|partitions|instance) '
                             then ' ' || left(c.target, 200) else '' end,
         case when $3::boolean then c.actor end
  from changes c
  union all select i.started_at, 'start', i.name || ' started', null from instances i
  union all select i.stopped_at, 'stop', i.name || ' stopped', null from instances i where i.stopped_at is not null
  union all select i.last_seen_at, 'crash', i.name || ' was last seen', null from instances i
            where i.stopped_at is null and i.last_seen_at < clock_timestamp() - $4::bigint * interval '1 s')
select (extract(epoch from m.at) * 1000000)::bigint, m.kind, m.text, m.who
from marks m where m.at > clock_timestamp() - $1::bigint * interval '1 s'
order by m.at desc limit $2::int
