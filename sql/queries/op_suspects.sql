-- Pending events that were in flight at three crashes or more, the most crashes first, for `status`: at most $1 rows.
-- No locks. Indexes: delivery_suspect; event_place in each day.
select h.name, s.topic, s.partition, lower(d.pending), d.events, d.claims - is_running::int as crashes,
       case when d.events = 1 then (
         select e.event_id::text from inbox.event e
         where e.shard_id = d.shard_id and e."offset" = lower(d.pending) and e.received_at >= d.received_from
           and e.received_at <= d.received_to) end
from inbox.delivery d
join inbox.handler h using (handler_id)
join inbox.shard s using (shard_id)
cross join lateral (
  select exists (select from inbox.instance i
                 where i.instance_id = d.owner and i.stopped_at is null
                   and i.last_seen_at > clock_timestamp() - interval '15 s')) r(is_running)
where d.claims >= 3 and d.claims - is_running::int >= 3
order by crashes desc, d.delivery_id limit $1::bigint
