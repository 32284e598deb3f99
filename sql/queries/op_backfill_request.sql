-- `handlers backfill` of handler $1: the events received from $2 to $3 (null: no bound; never later than now), of
-- topics $4 and types $5, also those with an outcome if $6, at most $7 a second. Recorded in audit; $8 actor, $9 the
-- options as typed. No row if the handler is retired or another request has ranges left. Locks: the request. Indexes:
-- primary keys; event_place of these days. Reads all of also_seen.
with asked as (
  select h.handler_id, h.name, coalesce('epoch'::timestamptz + $2::bigint * interval '1 us', '-infinity') as from_time,
         least('epoch'::timestamptz + $3::bigint * interval '1 us', clock_timestamp()) as to_time
  from inbox.handler h where h.handler_id = $1::int and h.retired_at is null),
ranges as materialized (
  select p.* from asked a cross join lateral inbox.backfill_ranges(a.handler_id, a.from_time, a.to_time, $4::text[]) p),
request as (
  insert into inbox.backfill_request as q (handler_id, from_time, to_time, topics, types, again, rate, offsets)
  select a.handler_id, a.from_time, a.to_time, $4::text[], $5::text[], $6::boolean, $7::int,
         (select coalesce(sum(p.end_offset - p.next_offset), 0) from ranges p)
  from asked a
  on conflict (handler_id) do update
  set from_time = excluded.from_time, to_time = excluded.to_time, topics = excluded.topics, types = excluded.types,
      again = excluded.again, rate = excluded.rate, offsets = excluded.offsets, requested_at = excluded.requested_at,
      fed_at = excluded.fed_at, fed_ids = '{}',
      spent_until = excluded.spent_until, delivered_events = 0, deleted_letters = 0, ended_at = null, cancelled = false
  where not exists (select from inbox.backfill_range g where g.handler_id = q.handler_id)
  returning q.handler_id, q.offsets),
given as (
  insert into inbox.backfill_range (handler_id, shard_id, next_offset, end_offset, elsewhere)
  select r.handler_id, p.shard_id, p.next_offset, p.end_offset, p.elsewhere from request r cross join ranges p),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $8::text, 'handlers backfill', a.name,
         jsonb_build_object('asked', $9::text, 'offsets', r.offsets)
  from request r join asked a using (handler_id))
select offsets from request
