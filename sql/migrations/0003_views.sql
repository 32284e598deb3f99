-- The public face for people, dashboards and scripts: these views may only grow.

create view inbox.events as
select e.event_id, coalesce(e.source_id, e.event_id::text) as source_id, s.topic, s.partition, e."offset", e.event_type,
       e.source, e.subject, e.key, e.payload, inbox.headers_of(e.headers) as headers, e.occurred_at, e.received_at
from inbox.event e join inbox.shard s using (shard_id);

-- One row for each event and handler. An event is found through the ledger, its outcomes by shard and a bounded span
-- of offsets (10000: no run spans more), so that a question about one event reads a handful of rows. What failed beside
-- others for another reason has its error among the failures alone. What died has its
-- letter's row instead, or none where it was replayed; and what a handler did before it was retired and added again
-- (created_at) gives way to what became of the event since.
create view inbox.deliveries as
select l.event_id, h.name as handler,
       case when d.owner is not null and d.due_at > clock_timestamp() then 'leased'
            when d.attempts > 0 and d.due_at > clock_timestamp() then 'retrying'
            else 'due' end as state,
       d.attempts, d.due_at,
       case when d.attempts > 0 then coalesce(d.last_error, (
         select f.error_class || ': ' || f.message from inbox.failure f
         where f.event_id = l.event_id and f.handler_id = d.handler_id order by f.occurred_at desc limit 1)) end
         as last_error,
       null::timestamptz as finished_at
from inbox.ledger l
join inbox.delivery d on d.shard_id = l.shard_id and d.pending @> l."offset"
join inbox.handler h using (handler_id)
union all
select l.event_id, h.name, o.outcome, o.attempts, null, null, o.finished_at
from inbox.ledger l
join inbox.outcome o on o.shard_id = l.shard_id and lower(o.offsets) > l."offset" - 10000
                    and lower(o.offsets) <= l."offset" and o.offsets @> l."offset"
join inbox.handler h using (handler_id)
where o.finished_at >= h.created_at and o.outcome not in ('dead', 'discarded')
   or not exists (
        select from inbox.dead_letter x
        where x.handler_id = o.handler_id and x.shard_id = l.shard_id and x."offset" = l."offset")
      and not exists (
        select from inbox.delivery d
        where d.handler_id = o.handler_id and d.shard_id = l.shard_id and d.pending @> l."offset")
      and not exists (
        select from inbox.outcome later
        where later.handler_id = o.handler_id and later.shard_id = l.shard_id and later.finished_at > o.finished_at
          and lower(later.offsets) > l."offset" - 10000 and lower(later.offsets) <= l."offset"
          and later.offsets @> l."offset")
union all
select x.event_id, h.name, x.state, x.attempts, null, x.reasons -> -1 ->> 'message', x.died_at
from inbox.dead_letter x join inbox.handler h using (handler_id);

create view inbox.failures as
select f.event_id, h.name as handler, f.attempt, f.occurred_at, f.error_class, f.message, f.duration
from inbox.failure f join inbox.handler h using (handler_id);

create view inbox.backlog as
select h.name as handler,
       coalesce(d.due, 0) as due, coalesce(d.leased, 0) as leased, coalesce(d.retrying, 0) as retrying,
       0::bigint as waiting, coalesce(x.dead, 0) as dead, d.oldest_due_age, h.paused_reason
from inbox.handler h
left join (
  select handler_id,
         sum(events) filter (where due_at <= clock_timestamp()) as due,
         sum(events) filter (where due_at > clock_timestamp() and owner is not null) as leased,
         sum(events) filter (where due_at > clock_timestamp() and owner is null) as retrying,
         clock_timestamp() - min(due_at) filter (where due_at <= clock_timestamp()) as oldest_due_age
  from inbox.delivery group by handler_id) d using (handler_id)
left join (select handler_id, count(*) as dead from inbox.dead_letter group by handler_id) x using (handler_id)
where h.retired_at is null;

-- The newest position of each shard; high_watermark is what the daemon last heard from the broker.
create view inbox.lag as
select s.topic, s.partition, p.next_offset as position, s.high_watermark,
       greatest(s.high_watermark - p.next_offset, 0) as lag, s.halted_reason
from inbox.shard s
left join lateral (
  select next_offset from inbox.position p
  where p.shard_id = s.shard_id order by epoch desc, first_offset desc limit 1) p on true
where not exists (
  select from inbox.shard newer
  where newer.source = s.source and newer.topic = s.topic and newer.partition = s.partition
    and newer.ordinal > s.ordinal);

create view inbox.dead_letters as
select x.dead_letter_id, h.name as handler, x.event_id, coalesce(x.source_id, x.event_id::text) as source_id, s.topic,
       s.partition, x."offset", x.event_type, x.source, x.subject, x.key, x.payload,
       inbox.headers_of(x.headers) as headers, x.occurred_at, x.received_at, x.attempts, x.state, x.died_at,
       x.reasons -> -1 ->> 'error_class' as error_class, x.reasons -> -1 ->> 'message' as last_error, x.reasons, x.notes
from inbox.dead_letter x join inbox.handler h using (handler_id) join inbox.shard s using (shard_id);

create view inbox.quarantined as
select q.quarantine_id, s.topic, s.partition, q."offset", q.reason, q.detail, q.event_id, q.key, q.payload,
       q.payload_size, inbox.headers_of(q.headers) as headers, q.kafka_timestamp, q.received_at
from inbox.quarantine q join inbox.shard s using (shard_id);
