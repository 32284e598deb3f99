-- Counts dead letters that cannot be replayed by themselves: dead letters of retired handlers, dead letters that a
-- backfill has yet to pass, and events that another dead letter parks. $1 to $9 as in op_dead_pick. No locks.
select count(*) filter (where h.retired_at is not null),
       count(*) filter (where h.retired_at is null and b.is_awaited),
       count(*) filter (where h.retired_at is null and not b.is_awaited and k.is_parked)
from inbox.dead_letter x join inbox.handler h using (handler_id)
cross join lateral (
  select exists (
    select from inbox.backfill f
    where f.handler_id = x.handler_id and f.shard_id = x.shard_id and f.next_offset <= x."offset"
      and x."offset" < f.end_offset) as is_awaited) b
cross join lateral (
  select x.state = 'parked' and not x.parks and inbox.is_parked(x.handler_id, x.sequence, x.lane) as is_parked) k
where ($1::text is null or h.name = $1::text)
  and (cardinality($2::text[]) = 0 or x.event_type like any ($2::text[]))
  and (cardinality($3::text[]) = 0 or coalesce(x.reasons -> -1 ->> 'error_class', '') like any ($3::text[]))
  and ($4::text is null or position(lower($4::text) in lower(coalesce(x.reasons -> -1 ->> 'message', ''))) > 0)
  and ($5::bigint is null or x.died_at >= 'epoch'::timestamptz + $5::bigint * interval '1 us')
  and ($6::bigint is null or x.died_at < 'epoch'::timestamptz + $6::bigint * interval '1 us')
  and ($7::bytea is null or x.key = $7::bytea)
  and (($8::bigint[] is null and $9::uuid[] is null)
       or x.dead_letter_id = any ($8::bigint[]) or x.event_id = any ($9::uuid[]))
  and (h.retired_at is not null or b.is_awaited or k.is_parked)
