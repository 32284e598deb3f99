-- Ends $3 of partitions that no instance reads, and the members $4 of the group that have them. Leaves rows alone that
-- another instance has written within $5 ms. Locks: the partitions' rows, in order.
insert into inbox.reading as r (topic, partition, position, high_watermark, member)
select x.topic, x.partition, l.position, x.high, x.member
from unnest($1::text[], $2::int[], $3::bigint[], $4::text[]) x(topic, partition, high, member)
left join inbox.lag l on l.topic = x.topic and l.partition = x.partition
order by x.topic, x.partition
on conflict (topic, partition) do update set
  position = excluded.position, high_watermark = coalesce(excluded.high_watermark, r.high_watermark),
  reason = null, member = excluded.member,
  moved_at = case when excluded.position is distinct from r.position or excluded.position >= excluded.high_watermark
                    then clock_timestamp() else r.moved_at end,
  seen_at = clock_timestamp()
where r.seen_at < clock_timestamp() - $5::bigint * interval '1 ms'
