-- The newest position of each partition. high_watermark is the broker's at observed_at, records after an open
-- transaction included. It is null until a daemon has observed it, and so is lag.
create or replace view inbox.lag as
select s.topic, s.partition, p.next_offset as position, s.high_watermark,
       case when s.high_watermark is not null then greatest(s.high_watermark - p.next_offset, 0) end as lag,
       s.observed_at, s.halted_reason
from inbox.shard s
left join lateral (
  select next_offset from inbox.position p
  where p.shard_id = s.shard_id order by epoch desc, first_offset desc limit 1) p on true
where not exists (
  select from inbox.shard newer
  where newer.source = s.source and newer.topic = s.topic and newer.partition = s.partition
    and newer.ordinal > s.ordinal);
