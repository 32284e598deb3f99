-- Gives dead letters $1 and their events the decoded values $2, where they have none. Locks: the dead letters, then
-- their events. Indexes: primary key; event_place.
with letter as (
  update inbox.dead_letter d set decoded = g.decoded
  from unnest($1::bigint[], $2::bytea[]) g (dead_letter_id, decoded)
  where d.dead_letter_id = g.dead_letter_id and d.decoded is null and d.forgotten_at is null
  returning d.shard_id, d."offset", d.received_at, d.event_id, g.decoded)
update inbox.event e set decoded = l.decoded
from letter l
where e.shard_id = l.shard_id and e."offset" = l."offset" and e.received_at = l.received_at
  and e.event_id = l.event_id and e.decoded is null and e.forgotten_at is null
