-- One row for each event and handler: pending deliveries, outcomes and dead letters. It starts at the ledger and
-- finds outcomes by shard and offset; no run spans more than 10,000 offsets. So a query for one event reads a few
-- rows. An event that failed beside others for another reason has its error in failures only. A dead event is shown
-- by its dead letter. Once that is deleted and nothing later is known, its outcome shows it.
create or replace view inbox.deliveries as
select l.event_id, h.name as handler,
       case when d.owner is not null and (d.sequence is not null or d.due_at > clock_timestamp()) then 'leased'
            when d.lane is not null and d.due_at = 'infinity' then 'waiting'
            when d.attempts > 0 and d.due_at > clock_timestamp() and (d.due_at < 'infinity' or h.mode <> 'batch')
              then 'retrying'
            when h.mode = 'batch' and not coalesce(w.ended_at is null and inbox.is_in_window(d, w), false)
              then 'waiting'
            else 'due' end as state,
       d.attempts, nullif(d.due_at, 'infinity') as due_at,
       case when d.attempts > 0 then coalesce(d.last_error, (
         select f.error_class || ': ' || f.message from inbox.failure f
         where f.event_id = l.event_id and f.handler_id = d.handler_id order by f.occurred_at desc limit 1)) end
         as last_error,
       null::timestamptz as finished_at
from inbox.ledger l
join inbox.delivery d on d.shard_id = l.shard_id and d.pending @> l."offset"
join inbox.handler h using (handler_id)
left join inbox.batch_window w using (handler_id)
union all
select l.event_id, h.name, o.outcome, o.attempts, null, null, o.finished_at
from inbox.ledger l
join inbox.outcome o on o.shard_id = l.shard_id and lower(o.offsets) > l."offset" - 10000
                    and lower(o.offsets) <= l."offset" and o.offsets @> l."offset"
join inbox.handler h using (handler_id)
where o.outcome not in ('dead', 'expired', 'discarded')
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
