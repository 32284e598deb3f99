-- The topics of dead letters $1 whose event was stored without a decoded value. No locks. Index: primary key.
select distinct s.topic
from inbox.dead_letter d join inbox.shard s using (shard_id)
where d.dead_letter_id = any ($1::bigint[]) and d.decoded is null and d.payload is not null
  and d.forgotten_at is null
