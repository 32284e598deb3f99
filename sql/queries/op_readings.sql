-- Who reads each partition, for `status` and metrics: rows written within $1 s. An instance is live if seen within
-- $2 s. No locks; a row per partition. Indexes: primary key of instance, unique key of shard.
select r.topic, r.partition, r.position, r.high_watermark, r.reason, r.member, i.host,
       coalesce(i.stopped_at is null and i.last_seen_at > clock_timestamp() - $2::int * interval '1 s'
                and r.read_at > clock_timestamp() - $2::int * interval '1 s', false) as is_read,
       (extract(epoch from clock_timestamp() - r.moved_at) * 1000000)::bigint as unmoved_us,
       coalesce(s.halted_reason is not null, false) as is_halted,
       coalesce(s.held_since is not null and r.position >= s.last_stable_offset, false) as is_held
from inbox.reading r
left join inbox.instance i on i.instance_id = r.instance_id
left join lateral (
  select s.halted_reason, s.held_since, s.last_stable_offset from inbox.shard s
  where s.source = 'kafka' and s.topic = r.topic and s.partition = r.partition
  order by s.ordinal desc limit 1) s on true
where r.seen_at > clock_timestamp() - $1::int * interval '1 s'
order by r.topic, r.partition
