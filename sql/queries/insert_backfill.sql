-- Backfill of handler $1 from time $3 (null: everything): whole shards of its topics, and of other shards the range
-- that contains events that also came on its topics. Called after lock_routing, so that no range is missed or taken
-- twice. Reads all of also_seen.
with ours as (
  select s.shard_id, inbox.matches(s.topic, $2::text[]) as matches, s.topic from inbox.shard s)
insert into inbox.backfill (handler_id, shard_id, next_offset, end_offset, from_time, elsewhere)
select $1::int, x.shard_id, x.first, x."end", 'epoch'::timestamptz + $3::bigint * interval '1 us', x.elsewhere
from (
  select o.shard_id, 0::bigint as first, p.next_offset as "end", false as elsewhere
  from ours o
  cross join lateral (
    select max(x.next_offset) as next_offset from inbox.position x
    where x.shard_id = o.shard_id and x.first_offset >= 0) p
  where o.matches and p.next_offset > 0
  union all
  select a.shard_id, min(a."offset"), max(a."offset") + 1, true
  from inbox.also_seen a join ours o using (shard_id)
  where not o.matches and a.topic in (select topic from ours where matches)
    and ($3::bigint is null or a.seen_at >= 'epoch'::timestamptz + $3::bigint * interval '1 us')
  group by a.shard_id) x
order by x.shard_id
on conflict do nothing
