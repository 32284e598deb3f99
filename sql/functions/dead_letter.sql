-- Copies events of deliveries p_ids, which the caller has locked, to dead letters, with the reasons of all attempts.
-- Records the outcome of events that are not parked, and publishes them if the handler has a topic for dead letters.
-- x_state: as in inbox.settle. Locks: its new and changed rows. Indexes: event_place, failure_event. Each event is
-- looked up by itself (offset 0 keeps the planner from joining otherwise), in the days in which its delivery was
-- received.
create or replace function inbox.dead_letter(
  p_ids bigint[], x_id bigint[], x_offset bigint[], x_event uuid[], x_state text[], x_lane bigint[], x_key bytea[])
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into inbox.dead_letter (handler_id, event_id, shard_id, "offset", source_id, event_type, source, subject, key,
                                 payload, decoded, headers, occurred_at, kafka_timestamp, received_at, attempts,
                                 reasons, state, sequence, ordinal, lane, order_key, parks, forgotten_at, deliver_at)
  select d.handler_id, x.event, d.shard_id, x."offset", e.source_id, e.event_type, e.source, e.subject, e.key,
         e.payload, e.decoded, e.headers, e.occurred_at, e.kafka_timestamp, e.received_at,
         d.attempts + (x.state not in ('parked', 'expired'))::int,
         coalesce((select jsonb_agg(jsonb_build_object('attempt', f.attempt, 'occurred_at', f.occurred_at,
                                                       'error_class', f.error_class, 'message', f.message)
                                    order by f.occurred_at)
                   from inbox.failure f where f.event_id = x.event and f.handler_id = d.handler_id), '[]'),
         case when x.state in ('expires', 'expired') then 'expired' when x.state = 'parked' then 'parked'
              else 'dead' end,
         d.sequence,
         case when d.sequence is not null then coalesce(d.ordinal, d.delivery_id) end, x.lane, x.key,
         x.state = 'parks', e.forgotten_at, e.deliver_at
  from unnest(x_id, x_offset, x_event, x_state, x_lane, x_key) x(id, "offset", event, state, lane, key)
  join inbox.delivery d on d.delivery_id = x.id
  cross join lateral (
    select e.* from inbox.event e
    where e.shard_id = d.shard_id and e."offset" = x."offset" and e.event_id = x.event
      and e.received_at >= d.received_from and e.received_at <= d.received_to
    offset 0) e
  where d.delivery_id = any (p_ids)
  on conflict (handler_id, shard_id, "offset") do update
  set attempts = excluded.attempts, reasons = excluded.reasons, state = excluded.state, died_at = clock_timestamp(),
      sequence = excluded.sequence, ordinal = excluded.ordinal, lane = excluded.lane, order_key = excluded.order_key,
      parks = excluded.parks, forgotten_at = excluded.forgotten_at;
  if exists (select from inbox.dead_letter_topic) then
    perform inbox.publish_dead(p_ids, x_id, x_offset, x_state);
  end if;

  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
  select d.handler_id, d.shard_id, range_agg(int8range(x."offset", x."offset" + 1)), t.outcome, t.attempts, d.owner
  from unnest(x_id, x_offset, x_state) x(id, "offset", state)
  join inbox.delivery d on d.delivery_id = x.id
  cross join lateral (
    select case when x.state in ('expires', 'expired') then 'expired' else 'dead' end as outcome,
           d.attempts + (x.state <> 'expired')::int as attempts) t
  where d.delivery_id = any (p_ids) and x.state <> 'parked'
  group by d.delivery_id, t.outcome, t.attempts;
end
$$;
