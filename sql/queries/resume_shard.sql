-- A reason that has passed by itself. A gap waits for the operator. Locks: the shard's row.
update inbox.shard set halted_reason = null, halted_at = null
where shard_id = $1::int and halted_reason is not null and gap is null
