-- The dead letters that a replay or discard means, lane by lane in order of storing, others in order of their shards;
-- dead letters that park a key come last. A bite with whole lanes adds no row to lanes of earlier bites, so it is
-- cheaper.
-- $1 to $7 as in op_dead_list, ids $8 of dead letters and $9 of events (both null: any), at most $10. Without $11, to
-- replay: no dead letters of retired handlers, none that a backfill has yet to pass, and no events that another dead
-- letter parks, as in inbox.replay_dead. With it, to discard: events that another dead letter parks only by their ids,
-- because they were never called, or of a retired handler. No locks.
select x.dead_letter_id, h.name
from inbox.dead_letter x join inbox.handler h using (handler_id)
cross join lateral (
  select case when x.sequence = inbox.sequence_of(h.mode, h.order_scope, x.shard_id) then x.lane end as lane) k
where ($1::text is null or h.name = $1::text)
  and (cardinality($2::text[]) = 0 or x.event_type like any ($2::text[]))
  and (cardinality($3::text[]) = 0 or coalesce(x.reasons -> -1 ->> 'error_class', '') like any ($3::text[]))
  and ($4::text is null or position(lower($4::text) in lower(coalesce(x.reasons -> -1 ->> 'message', ''))) > 0)
  and ($5::bigint is null or x.died_at >= 'epoch'::timestamptz + $5::bigint * interval '1 us')
  and ($6::bigint is null or x.died_at < 'epoch'::timestamptz + $6::bigint * interval '1 us')
  and ($7::bytea is null or x.key = $7::bytea)
  and (($8::bigint[] is null and $9::uuid[] is null)
       or x.dead_letter_id = any ($8::bigint[]) or x.event_id = any ($9::uuid[]))
  and ($11::boolean and (x.parks or x.state <> 'parked' or h.retired_at is not null
                          or x.dead_letter_id = any ($8::bigint[]) or x.event_id = any ($9::uuid[]))
       or not $11::boolean and h.retired_at is null
          and (x.parks or x.state <> 'parked' or not inbox.is_parked(x.handler_id, x.sequence, x.lane))
          and not exists (select from inbox.backfill f
                          where f.handler_id = x.handler_id and f.shard_id = x.shard_id and f.next_offset <= x."offset"
                            and x."offset" < f.end_offset))
order by x.parks, x.handler_id, k.lane, case when k.lane is not null then x.ordinal end,
         case when k.lane is not null and x.sequence = 0 then x.received_at end, x.shard_id, x."offset"
limit $10::bigint
