-- Everything ingested so far on topics of a new handler, from a time on or from the beginning. Called with routing
-- locked, so that no range is missed and none counted twice.
insert into inbox.backfill (handler_id, shard_id, next_offset, end_offset, from_time)
select $1::int, s.shard_id, 0, p.next_offset, 'epoch'::timestamptz + $3::bigint * interval '1 us'
from inbox.shard s
cross join lateral (
  select max(x.next_offset) as next_offset from inbox.position x
  where x.shard_id = s.shard_id and x.first_offset >= 0) p
where inbox.matches(s.topic, $2::text[]) and p.next_offset > 0
on conflict do nothing
