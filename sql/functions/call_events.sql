-- The events of a call, read in place by ranges [p_first, p_end) of shards. p_from and p_to: when they were received,
-- so that other days are left out before the plan starts. p_edit: the edit of a single-event range that `dead edit` has
-- changed; other ranges have 0. p_delivery and p_fence: the lease that a range is pending under. Columns are raw; the
-- statement that reads them converts the columns that it uses. No locks. Indexes: event_place; primary keys of delivery
-- and edit. Settings: a plan made while a day is small is kept.
--
-- Runs with the owner's rights, because the handler's role has none on this schema, and every role may call it. It
-- gives only events of a call: only the daemon knows the random fence of a lease.
create or replace function inbox.call_events(
  p_shard int[], p_first bigint[], p_end bigint[], p_from timestamptz, p_to timestamptz, p_attempt int[],
  p_edit bigint[], p_delivery bigint[], p_fence bigint[])
returns table (event_id uuid, source_id text, topic text, partition int, "offset" bigint, event_type text, source text,
               subject text, key bytea, payload bytea, decoded bytea, headers bytea,
               occurred_at timestamptz, received_at timestamptz, attempt int)
language plpgsql stable security definer rows 100
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off
as $$
begin
  return query
  select e.event_id, e.source_id, s.topic, s.partition, e."offset", e.event_type, e.source, e.subject, e.key,
         case when p_edit[i] = 0 then e.payload else x.payload end,
         case when p_edit[i] = 0 or x.payload is not distinct from e.payload then e.decoded end,
         case when p_edit[i] = 0 then e.headers else x.headers end, e.occurred_at, e.received_at, p_attempt[i]
  from generate_series(1, cardinality(p_shard)) i
  join inbox.delivery d on d.delivery_id = p_delivery[i] and d.fence = p_fence[i] and d.owner is not null
    and d.shard_id = p_shard[i] and d.pending @> int8range(p_first[i], p_end[i])
  join inbox.shard s on s.shard_id = p_shard[i]
  cross join lateral (
    select e.* from inbox.event e
    where e.shard_id = p_shard[i] and e."offset" >= p_first[i] and e."offset" < p_end[i]
      and e.received_at >= p_from and e.received_at <= p_to
    order by e."offset") e
  left join lateral (select x.payload, x.headers from inbox.edit x
                     where x.edit_id = p_edit[i] and x.handler_id = d.handler_id and x.shard_id = d.shard_id
                       and x."offset" = e."offset" offset 0) x
    on p_edit[i] <> 0;
end
$$;
