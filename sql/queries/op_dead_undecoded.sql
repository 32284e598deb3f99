-- Dead letters $1 of topics $2 whose event was stored without a decoded value, as raw records with their number. No
-- locks. Index: primary key.
select d.dead_letter_id, d.shard_id, s.topic, s.partition, d."offset",
       s.incarnation || case when s.truncations > 0 then '~' || s.truncations else '' end as log_id,
       d.key, d.payload, d.headers, (extract(epoch from d.kafka_timestamp) * 1000000)::bigint
from inbox.dead_letter d join inbox.shard s using (shard_id)
where d.dead_letter_id = any ($1::bigint[]) and d.decoded is null and d.payload is not null
  and d.forgotten_at is null and s.topic = any ($2::text[])
