-- Bounds of shard $1: its first position (null: trimmed by an earlier release); the first stored event; the first event
-- received since $2, which no retention has deleted. No locks. Indexes: primary key of position; event_place of all
-- days.
select (select min(p.next_offset) from inbox.position p where p.shard_id = $1::int and p.first_offset = -1),
       (select e."offset" from inbox.event e where e.shard_id = $1::int order by e."offset" limit 1),
       (select e."offset" from inbox.event e
        where e.shard_id = $1::int and e.received_at >= 'epoch'::timestamptz + $2::bigint * interval '1 us'
        order by e."offset" limit 1)
