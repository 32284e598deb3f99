-- Where shard $1 begins: its first position (null: trimmed by an earlier release); the first stored event. Which log
-- its offsets belong to, as in find_position. Before when its events were trimmed; null: none were. No locks. Indexes:
-- primary keys of position and shard; event_place of all days.
select (select min(p.next_offset) from inbox.position p where p.shard_id = $1::int and p.first_offset = -1),
       (select e."offset" from inbox.event e where e.shard_id = $1::int order by e."offset" limit 1),
       (select s.incarnation || case when s.truncations > 0 then '~' || s.truncations else '' end as log_id
        from inbox.shard s where s.shard_id = $1::int),
       (select (extract(epoch from s.trimmed_before) * 1000000)::bigint from inbox.shard s where s.shard_id = $1::int)
