-- The events of claimed runs of handler $8, by ranges of a shard; with payloads and headers if $7. An edit for the
-- handler (`dead edit`) replaces them; while the table of edits is empty, none is looked for. The last column says
-- that deliver_at has not come. No locks. Indexes:
-- event_place of the days in which the run was received; the unique key of edit.
select r.run, e."offset", e.event_id, e.source_id, e.event_type, e.source, e.subject, e.key,
       case when $7::boolean then case when x.edit_id is null then e.payload else x.payload end end,
       case when $7::boolean and (x.edit_id is null or x.payload is not distinct from e.payload) then e.decoded end,
       case when $7::boolean then case when x.edit_id is null then e.headers else x.headers end end,
       e.occurred_at, e.kafka_timestamp, e.received_at, x.edit_id, e.deliver_at,
       case when e.deliver_at > clock_timestamp() then true end
from unnest($1::int[], $2::int[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::timestamptz[])
     r(run, shard, first, "end", received_from, received_to)
cross join lateral (
  select e.* from inbox.event e
  where e.shard_id = r.shard and e."offset" >= r.first and e."offset" < r."end"
    and e.received_at >= r.received_from and e.received_at <= r.received_to and e.forgotten_at is null
  order by e."offset") e
left join lateral (
  select x.edit_id, x.payload, x.headers from inbox.edit x
  where (select exists (select from inbox.edit)) and x.handler_id = $8::int and x.shard_id = r.shard
    and x."offset" = e."offset" and x.event_id = e.event_id
  offset 0) x on true
