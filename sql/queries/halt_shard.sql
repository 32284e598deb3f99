-- Halts a shard; the first reason stays. Locks: the shard's row.
update inbox.shard
set halted_reason = $2::text, halted_at = clock_timestamp(),
    gap = case when $3::bigint is null then gap else int8range($3::bigint, $4::bigint) end
where shard_id = $1::int and halted_reason is null
