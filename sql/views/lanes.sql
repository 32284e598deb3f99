-- Keys of sequential handlers whose events wait. blocked: they wait for a failed event that is tried again or, without
-- an attempt, for the deliver_at of an event, or their key is too slow to wait in memory; a row for each lane of
-- delivery, with its first row. parked: they wait for a dead letter that parks the key, until an operator acts. waiting
-- counts the events after the first. It reads all lanes once, and looks up each first event and each parked lane by
-- index. Keys are shortened to 256 bytes.
create or replace view inbox.lanes as
select h.name as handler, d.order_key as key, inbox.text_or_null(d.order_key) as key_text, 'blocked' as state,
       d.in_lane - 1 as waiting, e.event_id as head_event_id, d.attempts, nullif(d.due_at, 'infinity') as due_at,
       d.last_error
from (
  select x.handler_id, x.shard_id, x.order_key, x.pending, x.attempts, x.due_at, x.last_error, x.received_from,
         x.received_to, sum(x.events) over lane as in_lane, row_number() over (lane order by
           coalesce(x.ordinal, x.delivery_id), inbox.stored_at(x), x.shard_id, lower(x.pending)) as place
  from inbox.delivery x where x.lane is not null
  window lane as (partition by x.handler_id, x.sequence, x.lane)) d
join inbox.handler h using (handler_id)
left join lateral (
  select e.event_id from inbox.event e
  where e.shard_id = d.shard_id and e."offset" = lower(d.pending) and e.received_at >= d.received_from
    and e.received_at <= d.received_to
  limit 1) e on true
where d.place = 1
union all
select h.name, x.order_key, inbox.text_or_null(x.order_key), 'parked', p.events, x.event_id, x.attempts, null,
       nullif(concat_ws(': ', x.reasons -> -1 ->> 'error_class', x.reasons -> -1 ->> 'message'), '')
from inbox.dead_letter x
join inbox.handler h using (handler_id)
cross join lateral (
  select count(*) as events from inbox.dead_letter p
  where p.handler_id = x.handler_id and p.sequence = x.sequence and p.lane = x.lane and p.state = 'parked'
    and p.dead_letter_id <> x.dead_letter_id) p
where x.parks;
