-- Shards with their newest position, the newest incarnation last, for `status` and `partitions list`. $1 topics (LIKE
-- patterns; none: all), $2 newest incarnations only, $3 halted shards only, $4 an instance is live if seen within that
-- many seconds. No locks. Index: primary key of position.
select s.shard_id, s.source, s.topic, s.partition, s.incarnation, x.is_newest, p.epoch, p.next_offset,
       s.high_watermark, s.last_stable_offset, (extract(epoch from s.observed_at) * 1000000)::bigint as observed_at,
       (extract(epoch from clock_timestamp() - s.observed_at) * 1000000)::bigint as observed_age,
       (extract(epoch from s.held_since) * 1000000)::bigint as held_since,
       (extract(epoch from clock_timestamp() - s.held_since) * 1000000)::bigint as held_for,
       exists (select from inbox.instance i where i.stopped_at is null
                 and i.last_seen_at > clock_timestamp() - $4::int * interval '1 s') as any_live,
       s.halted_reason, (extract(epoch from s.halted_at) * 1000000)::bigint as halted_at,
       lower(s.gap), upper(s.gap), s.new_incarnation, s.gaps::text
from inbox.shard s
cross join lateral (
  select not exists (
    select from inbox.shard newer
    where newer.source = s.source and newer.topic = s.topic and newer.partition = s.partition
      and newer.ordinal > s.ordinal) as is_newest) x
left join lateral (
  select p.epoch, p.next_offset from inbox.position p
  where p.shard_id = s.shard_id order by p.epoch desc, p.first_offset desc limit 1) p on true
where (cardinality($1::text[]) = 0 or s.topic like any ($1::text[])) and (x.is_newest or not $2::boolean)
  and (s.halted_reason is not null or not $3::boolean)
order by s.topic, s.partition, s.ordinal
