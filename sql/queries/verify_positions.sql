-- Partitions without a position that are not halted, and positions that do not begin where the position before ended,
-- so that offsets between were never stored. Only the newest 1,000 positions of a partition: trim_positions deletes
-- others in any order. At most $1 rows, with the number of all. No locks. Index: primary key of position.
with newest as (
  select s.shard_id, s.topic, s.partition, p.first_offset,
         lag(p.next_offset) over (partition by s.shard_id, p.epoch order by p.first_offset) as before
  from inbox.shard s
  cross join lateral (
    select x.epoch, x.first_offset, x.next_offset from inbox.position x where x.shard_id = s.shard_id
    order by x.epoch desc, x.first_offset desc limit 1000) p)
select count(*) over (), null::text, f.topic, f.partition, f."offset", null::uuid, null::bigint, f.what
from (
  select n.topic, n.partition, n.before as "offset",
         'the position went from ' || n.before || ' to ' || n.first_offset as what
  from newest n where n.before <> n.first_offset
  union all
  select s.topic, s.partition, null, 'no position'
  from inbox.shard s
  where s.halted_reason is null and not exists (select from inbox.position p where p.shard_id = s.shard_id)) f
order by f.topic, f.partition, f."offset"
limit $1::int
