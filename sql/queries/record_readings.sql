-- What this instance $1 knows of the partitions that are assigned to it: positions $4, ends $5, and why a position is
-- not known $6. Locks: the partitions' rows, in order.
insert into inbox.reading as r (topic, partition, instance_id, read_at, position, high_watermark, reason)
select x.topic, x.partition, $1::uuid, clock_timestamp(), x.position, x.high, x.reason
from unnest($2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::text[]) x(topic, partition, position, high, reason)
order by x.topic, x.partition
on conflict (topic, partition) do update set
  instance_id = excluded.instance_id, read_at = excluded.read_at, reason = excluded.reason, member = null,
  position = excluded.position, high_watermark = coalesce(excluded.high_watermark, r.high_watermark),
  moved_at = case when excluded.position is distinct from r.position or excluded.position >= excluded.high_watermark
                    then clock_timestamp() else r.moved_at end,
  seen_at = clock_timestamp()
