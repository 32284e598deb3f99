-- Halts a shard; the first reason stays, unless it is to be replaced ($5). What it waits for: a gap ($3, $4), a new
-- incarnation ($6), or that the cause passes. Nothing where the shard's position is no longer what it was when the
-- cause was met ($7, $8; null: any): somebody else reads it by now. Locks: the shard's row.
update inbox.shard
set halted_reason = $2::text, halted_at = clock_timestamp(),
    gap = case when $3::bigint is not null then int8range($3::bigint, $4::bigint) end, new_incarnation = $6::text
where shard_id = $1::int and (halted_reason is null or $5::boolean)
  and ($7::int is null or ($7::int, $8::bigint) = (
    select p.epoch, p.next_offset from inbox.position p
    where p.shard_id = $1::int order by p.epoch desc, p.first_offset desc limit 1))
