-- Clears a halt whose cause has passed, unless the reason has changed. Locks: the shard's row.
update inbox.shard set halted_reason = null, halted_at = null, new_incarnation = null
where shard_id = $1::int and halted_reason = $2::text and gap is null
