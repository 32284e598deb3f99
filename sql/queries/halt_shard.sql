-- Halts a shard. The first reason stays unless $5. It waits for an operator with a gap ($3, $4) or a new incarnation
-- ($6), and otherwise until the cause passes. Does nothing if the shard's position is no longer ($7, $8) (null: any):
-- another instance reads it by now. Locks: the shard's row.
update inbox.shard
set halted_reason = $2::text, halted_at = clock_timestamp(),
    gap = case when $3::bigint is not null then int8range($3::bigint, $4::bigint) end, new_incarnation = $6::text
where shard_id = $1::int and (halted_reason is null or $5::boolean)
  and ($7::int is null or ($7::int, $8::bigint) = (
    select p.epoch, p.next_offset from inbox.position p
    where p.shard_id = $1::int order by p.epoch desc, p.first_offset desc limit 1))
