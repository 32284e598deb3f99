-- A row for each event and handler: pending deliveries, outcomes and dead letters. An event that failed along with
-- others for another reason has its error in failures only. A dead event is shown by its dead letter. Once that is
-- deleted and nothing later is known, its outcome shows it.
--
-- Each row of delivery and outcome is joined to the ledger by shard and offset, so that counting all events takes a
-- single hash join: rows of a single event directly, others by each of their offsets. The bounds on lower() serve a
-- query for an event, which finds outcomes by index; no run spans more than 10,000 offsets. Such a query reads all of
-- delivery.
create or replace view inbox.deliveries as
with placed as (
  select l.event_id, l.shard_id, l."offset", d.handler_id, d as delivery, null::text as outcome, d.attempts,
         null::timestamptz as finished_at
  from inbox.delivery d
  join inbox.ledger l on l.shard_id = d.shard_id and l."offset" = lower(d.pending)
  where upper(d.pending) - lower(d.pending) = 1
  union all
  select l.event_id, l.shard_id, l."offset", d.handler_id, d, null, d.attempts, null
  from inbox.delivery d
  cross join inbox.offsets_in(d.pending) n
  join inbox.ledger l on l.shard_id = d.shard_id and l."offset" = n."offset"
  where upper(d.pending) - lower(d.pending) > 1
  union all
  select l.event_id, l.shard_id, l."offset", o.handler_id, null, o.outcome, o.attempts, o.finished_at
  from inbox.outcome o
  join inbox.ledger l on l.shard_id = o.shard_id and l."offset" = lower(o.offsets)
  where upper(o.offsets) - lower(o.offsets) = 1
  union all
  select l.event_id, l.shard_id, l."offset", o.handler_id, null, o.outcome, o.attempts, o.finished_at
  from inbox.outcome o
  cross join inbox.offsets_in(o.offsets) n
  join inbox.ledger l on l.shard_id = o.shard_id and l."offset" = n."offset"
  where upper(o.offsets) - lower(o.offsets) > 1
    and lower(o.offsets) > l."offset" - 10000 and lower(o.offsets) <= l."offset")
select k.event_id, k.handler,
       case when k.outcome is not null then k.outcome
            when k.owner is not null and (k.sequence is not null or k.due > clock_timestamp()) then 'leased'
            when k.lane is not null and k.due = 'infinity' or k.postponed and k.due > clock_timestamp()
                                                              and k.due < 'infinity' then 'waiting'
            when k.due > clock_timestamp() and (k.due < 'infinity' or k.attempts > 0 and k.mode <> 'batch')
              then 'retrying'
            when k.mode = 'batch' and not coalesce(w.ended_at is null and inbox.is_in_window(k.delivery, w), false)
              then 'waiting'
            else 'due' end as state,
       k.attempts, nullif(k.due, 'infinity') as due_at,
       case when k.outcome is null then coalesce((k.delivery).last_error, (
         select f.error_class || ': ' || f.message from inbox.failure f
         where k.attempts > 0 and f.event_id = k.event_id and f.handler_id = k.handler_id
         order by f.occurred_at desc limit 1)) end
         as last_error,
       k.finished_at
from (
  select p.*, h.name as handler, h.mode, (p.delivery).owner, (p.delivery).sequence, (p.delivery).lane,
         (p.delivery).due_at as due, (p.delivery).postponed, max(p.finished_at) over known as newest,
         bool_or(p.outcome is null) over known as is_pending
  from placed p join inbox.handler h using (handler_id)
  window known as (partition by p.event_id, h.name)) k
left join inbox.batch_window w on w.handler_id = k.handler_id and k.mode = 'batch'
where k.outcome is null or k.outcome not in ('dead', 'expired', 'discarded')
   or not k.is_pending and k.finished_at = k.newest and not exists (
        select from inbox.dead_letter x
        where x.handler_id = k.handler_id and x.shard_id = k.shard_id and x."offset" = k."offset")
union all
select x.event_id, h.name, x.state, x.attempts, null, x.reasons -> -1 ->> 'message', x.died_at
from inbox.dead_letter x join inbox.handler h using (handler_id);
