-- Pending events of each handler, for `status` and `handlers list`. Counts at most $1 due and $1 later deliveries and
-- $2 dead letters of a handler; `due_cut` and the like say that there are more. An owner unseen for $3 seconds, or
-- stopped, is gone; null <> all of no instance would be true. A retried event's age is counted from when it was
-- received, because its due time moves with each attempt. No locks. Indexes: delivery_due (an index can be asked by
-- statement_timestamp, not by clock_timestamp), dead_letter_handler.
select h.handler_id, h.name, h.mode, h.topics, h.types, h.started_from, h.is_paused,
       h.fuse is not null or h.self_paused,
       (extract(epoch from h.retired_at) * 1000000)::bigint as retired_at,
       coalesce(due.events, 0) + coalesce(later.in_order, 0),
       due.runs = $1::bigint or later.in_order is not null and later.runs = $1::bigint as due_cut,
       coalesce(later.leased, 0), coalesce(later.retrying, 0), coalesce(later.waiting, 0) + coalesce(due.waiting, 0),
       later.runs = $1::bigint as later_cut, dead.letters, dead.letters = $2::bigint as dead_cut,
       (extract(epoch from greatest(due.oldest, clock_timestamp() - later.oldest_in_order)) * 1000000)::bigint
         as oldest_due_age_us,
       (extract(epoch from clock_timestamp() - least(due.failed_from, later.failed_from)) * 1000000)::bigint
         as oldest_retrying_age_us,
       coalesce(history.events, 0) as backfill, dead.parked,
       coalesce(later.of_gone, 0), (extract(epoch from greatest(later.gone_until, ends.gone_until)) * 1000000)::bigint,
       (extract(epoch from later.next_deliver_at) * 1000000)::bigint,
       h.mode = 'batch', (extract(epoch from w.next_close) * 1000000)::bigint as next_close,
       (extract(epoch from w.closed_at) * 1000000)::bigint as closed_at,
       (extract(epoch from coalesce(w.ended_at, clock_timestamp()) - w.began_at) * 1000000)::bigint as seconds,
       w.closed_at is not null and w.ended_at is null as is_running, coalesce(w.events, 0) as events,
       coalesce(w.retrying, 0) as retrying, coalesce(w.dead, 0) as dead, coalesce(w.postponed, 0) as postponed
from inbox.handler h
left join inbox.batch_window w on w.handler_id = h.handler_id
cross join (
  select coalesce(array_agg(i.instance_id), '{}') as instances from inbox.instance i
  where i.stopped_at is null and i.last_seen_at > clock_timestamp() - make_interval(secs => $3::int)) live
cross join lateral (
  select sum(d.events) filter (where h.mode <> 'batch' or d.since is not null) as events,
         sum(d.events) filter (where h.mode = 'batch' and d.since is null) as waiting,
         count(*) as runs,
         clock_timestamp() - min(case when h.mode = 'batch' then d.since else d.due_at end) as oldest,
         min(d.received_from) filter (where d.attempts > 0) as failed_from
  from (select d.events, d.due_at, d.attempts, d.received_from,
               case when h.mode = 'batch' then s.since end as since
        from inbox.delivery d
        cross join lateral (
          select inbox.window_due_since(coalesce(d.ordinal, d.delivery_id), d.received_from, d.due_at, w) as since) s
        where d.handler_id = h.handler_id and d.due_at <= statement_timestamp()
        order by d.due_at limit $1::bigint) d) due
cross join lateral (
  select sum(d.events) filter (where d.owner is not null) as leased,
         sum(d.events) filter (where d.owner is not null and d.owner <> all (live.instances)) as of_gone,
         max(d.due_at) filter (where d.owner is not null and d.owner <> all (live.instances) and d.due_at < 'infinity')
           as gone_until,
         sum(d.events) filter (where d.owner is null and d.due_at < 'infinity' and not d.postponed) as retrying,
         sum(d.events) filter (where d.owner is null
                                 and (d.due_at = 'infinity' and not d.is_next or d.due_at < 'infinity' and d.postponed))
           as waiting,
         min(d.due_at) filter (where d.owner is null and d.due_at < 'infinity' and d.postponed) as next_deliver_at,
         sum(d.events) filter (where d.owner is null and d.due_at = 'infinity' and d.is_next) as in_order,
         min(d.since) filter (where d.owner is null and d.due_at = 'infinity' and d.is_next) as oldest_in_order,
         count(*) as runs, min(d.received_from) filter (where d.attempts > 0) as failed_from
  from (select d.events, d.owner, d.due_at, d.attempts, d.received_from, d.postponed,
               case when h.mode = 'batch' then s.since else d.received_from end as since,
               case when h.mode = 'batch' then s.since is not null else d.lane is null end as is_next
        from inbox.delivery d
        cross join lateral (
          select inbox.window_due_since(coalesce(d.ordinal, d.delivery_id), d.received_from, d.due_at, w) as since) s
        where d.handler_id = h.handler_id and d.due_at > statement_timestamp()
        order by d.due_at limit $1::bigint) d) later
cross join lateral (
  select count(*) as letters, count(*) filter (where x.state = 'parked') as parked
  from (select x.state from inbox.dead_letter x where x.handler_id = h.handler_id limit $2::bigint) x) dead
cross join lateral (
  select max(s.leased_until) as gone_until from inbox.sequence s
  where s.handler_id = h.handler_id and s.owner <> all (live.instances)) ends
left join lateral (
  select sum(b.end_offset - b.next_offset) as events from (
    select f.next_offset, f.end_offset from inbox.backfill f where f.handler_id = h.handler_id
    union all
    select g.next_offset, g.end_offset from inbox.backfill_range g where g.handler_id = h.handler_id) b) history on true
order by h.name
