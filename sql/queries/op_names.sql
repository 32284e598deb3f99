-- Names that a misspelt filter may mean: handlers and aliases, topics, types of the newest events ($1 of each shard
-- since $2), types and error classes of dead letters, which are all read. No locks. Index: event_place of the days
-- since.
select kind, name from (
  select 'handler' as kind, h.name from inbox.handler h
  union select 'handler', unnest(h.aliases) from inbox.handler h
  union select 'topic', s.topic from inbox.shard s
  union select 'type', e.event_type
  from inbox.shard s
  cross join lateral (
    select e.event_type from inbox.event e
    where e.shard_id = s.shard_id and e.received_at >= 'epoch'::timestamptz + $2::bigint * interval '1 us'
    order by e."offset" desc limit $1::bigint) e
  union select 'type', x.event_type from inbox.dead_letter x
  union select 'error', x.reasons -> -1 ->> 'error_class' from inbox.dead_letter x) named
where name <> ''
order by kind, name limit 10000
