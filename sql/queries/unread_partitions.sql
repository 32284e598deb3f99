-- Returns the partitions of $1 (topics) and $2 (numbers) about which no instance has recorded anything for $3 ms. No
-- locks. Index: primary key of reading.
select x.topic, x.partition
from unnest($1::text[], $2::int[]) x(topic, partition)
where not exists (
  select from inbox.reading r
  where r.topic = x.topic and r.partition = x.partition
    and r.seen_at > clock_timestamp() - $3::bigint * interval '1 ms')
