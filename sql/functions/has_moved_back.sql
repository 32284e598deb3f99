-- Whether the position of any of these shards is below the offset that belongs to it. The shard of a topic that was
-- created again is not read any more. No locks. Indexes: primary key of position, unique keys of shard.
create or replace function inbox.has_moved_back(p_shards int[], p_offsets bigint[]) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return exists (
    select from unnest(p_shards, p_offsets) t(shard, "offset")
    cross join lateral (
      select x.next_offset from inbox.position x where x.shard_id = t.shard
      order by x.epoch desc, x.first_offset desc limit 1) p
    where p.next_offset < t."offset" and not exists (
      select from inbox.shard s
      join inbox.shard newer on newer.source = s.source and newer.topic = s.topic and newer.partition = s.partition
        and newer.ordinal > s.ordinal
      where s.shard_id = t.shard));
end
$$;
