-- Ends of partitions that the brokers reported $4 ms ago: high watermarks, and last stable offsets (null: not
-- reported). An open transaction keeps the last stable offset below the high watermark; held_since: since when at this
-- place. Locks: the shards' rows, SKIP LOCKED.
with mine as materialized (
  select s.shard_id, w.high, w.stable, clock_timestamp() - w.age_ms * interval '1 ms' as observed_at
  from inbox.shard s
  join unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[]) w(shard_id, high, stable, age_ms) using (shard_id)
  for update of s skip locked)
update inbox.shard s set high_watermark = mine.high, observed_at = mine.observed_at,
  last_stable_offset = coalesce(mine.stable, s.last_stable_offset),
  held_since = case when mine.stable is null then s.held_since
                    when mine.stable < mine.high and mine.stable = s.last_stable_offset
                      then coalesce(s.held_since, mine.observed_at)
                    when mine.stable < mine.high then mine.observed_at end
from mine where s.shard_id = mine.shard_id
