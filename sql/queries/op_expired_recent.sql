-- Topics all of whose events expired within the last hour, for `status`: by handler, of its newest $1 expired events.
-- Their number, the first expiry and the latest time of the events. All: no other outcome of the handler lies between
-- the first and the last of these offsets. No locks. Indexes: dead_letter_handler; outcome_place of two days.
select h.handler_id, r.topic, r.events, (extract(epoch from r.first_at) * 1000000)::bigint,
       (extract(epoch from r.latest) * 1000000)::bigint
from inbox.handler h
cross join lateral (
  select s.topic, sum(x.events)::bigint as events, min(x.first_at) as first_at, max(x.latest) as latest,
         bool_or(exists (
           select from inbox.outcome o
           where o.shard_id = x.shard_id and o.handler_id = h.handler_id and o.outcome <> 'expired'
             and o.finished_at > statement_timestamp() - interval '1 hour'
             and lower(o.offsets) >= x.first_offset and lower(o.offsets) <= x.last_offset)) as has_others
  from (
    select l.shard_id, count(*) as events, min(l.died_at) as first_at, min(l."offset") as first_offset,
           max(l."offset") as last_offset, max(coalesce(l.occurred_at, l.received_at)) as latest
    from (select d.shard_id, d."offset", d.died_at, d.occurred_at, d.received_at from inbox.dead_letter d
          where d.handler_id = h.handler_id and d.died_at > statement_timestamp() - interval '1 hour'
            and d.state = 'expired'
          order by d.died_at desc limit $1::bigint) l
    group by l.shard_id) x
  join inbox.shard s using (shard_id)
  group by s.topic) r
where h.retired_at is null and not r.has_others
order by r.events desc, r.topic limit 20
