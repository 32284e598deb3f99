-- The events of a call, read in place by ranges [p_first, p_end) of shards. p_from and p_to: when they were received,
-- so that other days are left out before the plan starts. p_edit: the edit of a range of one event that `dead edit` has
-- changed; others have 0. Columns are raw; the statement that reads them converts those that it uses. No locks.
-- Indexes: event_place; primary key of edit. Settings: a plan made while a day is small is kept.
--
-- Runs with the owner's rights, because the handler's role has none on this schema. That role reaches the function only
-- through a statement prepared by the daemon, because it cannot name it.
create or replace function inbox.call_events(
  p_shard int[], p_first bigint[], p_end bigint[], p_from timestamptz, p_to timestamptz, p_attempt int[],
  p_edit bigint[])
returns table (event_id uuid, source_id text, topic text, partition int, "offset" bigint, event_type text, source text,
               subject text, key bytea, payload bytea, headers bytea, occurred_at timestamptz,
               received_at timestamptz, attempt int)
language plpgsql stable security definer rows 100
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off
as $$
begin
  return query
  select e.event_id, e.source_id, s.topic, s.partition, e."offset", e.event_type, e.source, e.subject, e.key,
         case when p_edit[i] = 0 then e.payload else x.payload end,
         case when p_edit[i] = 0 then e.headers else x.headers end, e.occurred_at, e.received_at, p_attempt[i]
  from generate_series(1, cardinality(p_shard)) i
  join inbox.shard s on s.shard_id = p_shard[i]
  cross join lateral (
    select e.* from inbox.event e
    where e.shard_id = p_shard[i] and e."offset" >= p_first[i] and e."offset" < p_end[i]
      and e.received_at >= p_from and e.received_at <= p_to
    order by e."offset") e
  left join lateral (select x.payload, x.headers from inbox.edit x where x.edit_id = p_edit[i] offset 0) x
    on p_edit[i] <> 0;
end
$$;
