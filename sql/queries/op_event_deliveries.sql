-- Pending deliveries of event $4: shard $1, offset $2, received at $3 (null: any time). waits_for: its deliver_at, an
-- earlier event of its key, its window; null: it does not wait, or for a retry. No locks. Reads all of
-- delivery, which has pending work only; index failure_event if other events of its delivery failed for another reason.
select h.name, d.attempts, d.claims,
       d.owner is not null and (d.sequence is not null or d.due_at > clock_timestamp()) as is_leased,
       case when d.due_at < 'infinity' then (extract(epoch from d.due_at) * 1000000)::bigint end,
       case when h.mode = 'batch' then b.is_in_window
            else d.due_at <= clock_timestamp() or d.sequence is not null and d.lane is null end as is_due,
       case when d.owner is not null then null
            when d.postponed and d.due_at > clock_timestamp() and d.due_at < 'infinity' then 'deliver_at'
            when h.mode = 'batch' and not b.is_in_window and (d.due_at <= clock_timestamp() or d.due_at = 'infinity')
              then 'window'
            when h.mode <> 'batch' and d.lane is not null and d.due_at = 'infinity' then 'key' end as waits_for,
       i.host, i.process_id,
       coalesce(d.last_error, (
         select f.error_class || ': ' || f.message from inbox.failure f
         where d.attempts > 0 and f.event_id = $4::uuid and f.handler_id = d.handler_id
         order by f.occurred_at desc limit 1)),
       d.events, h.paused_reason, d.delivery_id
from inbox.delivery d
join inbox.handler h using (handler_id)
left join inbox.batch_window w on w.handler_id = h.handler_id
cross join lateral (select coalesce(w.ended_at is null and inbox.is_in_window(d, w), false) as is_in_window) b
left join inbox.instance i on i.instance_id = d.owner
where d.shard_id = $1::int and d.pending @> $2::bigint
  and ($3::bigint is null
       or d.received_from <= 'epoch'::timestamptz + $3::bigint * interval '1 us'
          and d.received_to >= 'epoch'::timestamptz + $3::bigint * interval '1 us')
order by h.name
