-- Copies events of deliveries p_ids, which the caller has locked, to dead letters, with the reasons of all attempts,
-- and records the outcome. Locks: its new and changed rows. Indexes: event_place, failure_event. Each event is looked
-- up by itself (offset 0 keeps the planner from joining otherwise), in the days in which its delivery was received.
create or replace function inbox.dead_letter(p_ids bigint[], x_id bigint[], x_offset bigint[], x_event uuid[])
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into inbox.dead_letter (handler_id, event_id, shard_id, "offset", source_id, event_type, source, subject, key,
                                 payload, headers, occurred_at, kafka_timestamp, received_at, attempts, reasons)
  select d.handler_id, x.event, d.shard_id, x."offset", e.source_id, e.event_type, e.source, e.subject, e.key,
         e.payload, e.headers, e.occurred_at, e.kafka_timestamp, e.received_at, d.attempts + 1,
         coalesce((select jsonb_agg(jsonb_build_object('attempt', f.attempt, 'occurred_at', f.occurred_at,
                                                       'error_class', f.error_class, 'message', f.message)
                                    order by f.occurred_at)
                   from inbox.failure f where f.event_id = x.event and f.handler_id = d.handler_id), '[]')
  from unnest(x_id, x_offset, x_event) x(id, "offset", event)
  join inbox.delivery d on d.delivery_id = x.id
  cross join lateral (
    select e.* from inbox.event e
    where e.shard_id = d.shard_id and e."offset" = x."offset" and e.event_id = x.event
      and e.received_at >= d.received_from and e.received_at <= d.received_to
    offset 0) e
  where d.delivery_id = any (p_ids)
  on conflict (handler_id, shard_id, "offset") do update
  set attempts = excluded.attempts, reasons = excluded.reasons, state = 'dead', died_at = clock_timestamp();

  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
  select d.handler_id, d.shard_id, range_agg(int8range(x."offset", x."offset" + 1)), 'dead', d.attempts + 1, d.owner
  from unnest(x_id, x_offset) x(id, "offset") join inbox.delivery d on d.delivery_id = x.id
  where d.delivery_id = any (p_ids)
  group by d.delivery_id;
end
$$;
