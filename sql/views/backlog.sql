-- Pending events of each handler that is not retired, for autoscalers (sql/README.md). It counts all of delivery.
create or replace view inbox.backlog as
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
