-- The offsets that a `handlers backfill` has to pass in each shard: all of the days between two times (null: no bound),
-- in shards of the handler's topics and p_topics. elsewhere: in other shards, offsets of events that also came on any
-- of these topics. No locks. Indexes: event_place of these days. Reads all of also_seen.
create or replace function inbox.backfill_ranges(
  p_handler int, p_from timestamptz, p_to timestamptz, p_topics text[])
returns table (shard_id int, next_offset bigint, end_offset bigint, elsewhere boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_from timestamptz := date_trunc('day', coalesce(p_from, '-infinity'), 'UTC');
  v_to timestamptz := date_trunc('day', coalesce(p_to, 'infinity'), 'UTC') + interval '1 day';
begin
  return query
  with shards as materialized (
    select s.shard_id, inbox.matches(s.topic, h.topics) and inbox.matches(s.topic, p_topics) as is_own
    from inbox.shard s cross join inbox.handler h where h.handler_id = p_handler),
  also as materialized (
    select a.shard_id, min(a."offset") as low, max(a."offset") as high
    from inbox.also_seen a cross join inbox.handler h
    where h.handler_id = p_handler and inbox.matches(a.topic, h.topics) and inbox.matches(a.topic, p_topics)
    group by a.shard_id)
  select s.shard_id, case when s.is_own then f."offset" else greatest(a.low, f."offset") end,
         case when s.is_own then l."offset" else least(a.high, l."offset") end + 1, not s.is_own
  from shards s
  left join also a using (shard_id)
  cross join lateral (
    select e."offset" from inbox.event e
    where e.shard_id = s.shard_id and e.received_at >= v_from and e.received_at < v_to
    order by e."offset" limit 1) f
  cross join lateral (
    select e."offset" from inbox.event e
    where e.shard_id = s.shard_id and e.received_at >= v_from and e.received_at < v_to
    order by e."offset" desc limit 1) l
  where s.is_own or a.low <= l."offset" and a.high >= f."offset";
end
$$;
