-- Deliveries with ids from $1 (exclusive) to $2 whose pending events are not stored: the first offset of each, and how
-- many. Looks where a claim does: in the days in which the delivery was received. At most $3 rows, with the number of
-- all. No locks. Indexes: primary key of delivery; event_place.
select count(*) over (), h.name, s.topic, s.partition, lower(m.offsets), null::uuid, null::bigint,
       inbox.count_of(m.offsets)::text
from inbox.delivery d
cross join lateral (
  select d.pending - coalesce(range_agg(int8range(e."offset", e."offset" + 1)), '{}') as offsets
  from inbox.event e
  where e.shard_id = d.shard_id and e."offset" >= lower(d.pending) and e."offset" < upper(d.pending)
    and e.received_at >= d.received_from and e.received_at <= d.received_to) m
join inbox.handler h using (handler_id)
join inbox.shard s using (shard_id)
where d.delivery_id > $1::bigint and d.delivery_id <= $2::bigint and not isempty(m.offsets)
order by d.delivery_id
limit $3::int
