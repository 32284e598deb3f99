-- Where shard $1 begins: its first position (null: trimmed by an earlier release); the first stored event. No locks.
-- Indexes: primary key of position; event_place of all days.
select (select min(p.next_offset) from inbox.position p where p.shard_id = $1::int and p.first_offset = -1),
       (select e."offset" from inbox.event e where e.shard_id = $1::int order by e."offset" limit 1)
