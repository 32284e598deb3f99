-- Pending events of each handler that is not retired, for autoscalers (sql/README.md). It counts all of delivery.
-- Events of a sequence are due, since they were stored, until its owner claims them. Events of a batch handler wait
-- until their window closes.
create or replace view inbox.backlog as
select h.name as handler,
       coalesce(d.due, 0) as due, coalesce(d.leased, 0) as leased, coalesce(d.retrying, 0) as retrying,
       coalesce(d.waiting, 0) as waiting, coalesce(x.dead, 0) as dead, d.oldest_due_age, h.paused_reason,
       h.is_paused
from inbox.handler h
left join (
  select handler_id,
         sum(events) filter (where state = 'due') as due, sum(events) filter (where state = 'leased') as leased,
         sum(events) filter (where state = 'retrying') as retrying,
         sum(events) filter (where state = 'waiting') as waiting,
         clock_timestamp() - min(since) filter (where state = 'due') as oldest_due_age
  from (
    select handler_id, events,
           case when is_batch then window_since when due_at < 'infinity' then due_at else received_from end as since,
           case when owner is not null and (sequence is not null or due_at > clock_timestamp()) then 'leased'
                when postponed and due_at > clock_timestamp() and due_at < 'infinity' then 'waiting'
                when is_batch and due_at > clock_timestamp() and due_at < 'infinity' then 'retrying'
                when is_batch and window_since is null then 'waiting'
                when due_at <= clock_timestamp() or sequence is not null and lane is null then 'due'
                when due_at < 'infinity' then 'retrying' else 'waiting' end as state
    from (
      select x.*, b.mode is not null as is_batch,
             inbox.window_due_since(coalesce(x.ordinal, x.delivery_id), x.received_from, x.due_at, w) as window_since
      from inbox.delivery x
      left join inbox.handler b on b.handler_id = x.handler_id and b.mode = 'batch'
      left join inbox.batch_window w on w.handler_id = b.handler_id) x) d
  group by handler_id) d using (handler_id)
left join (select handler_id, count(*) as dead from inbox.dead_letter group by handler_id) x using (handler_id)
where h.retired_at is null;
