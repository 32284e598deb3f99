-- The ends of partitions as the broker last told them. Locks: the shards' rows, skipping locked ones.
with mine as materialized (
  select s.shard_id, w.high from inbox.shard s join unnest($1::int[], $2::bigint[]) w(shard_id, high) using (shard_id)
  where s.high_watermark is distinct from w.high
  for update of s skip locked)
update inbox.shard s set high_watermark = mine.high from mine where s.shard_id = mine.shard_id
