-- Records the handlers $5 (ids) of this process's configuration, in the transaction that registers them and before it
-- runs them. Heartbeats leave this column alone: one with the handlers from before a reload must not overwrite it.
-- Locks: its own row.
insert into inbox.instance (instance_id, host, version, process_id, handlers, registered)
values ($1::uuid, $2::text, $3::text, $4::int, $5::int[], $5::int[])
on conflict (instance_id) do update set last_seen_at = clock_timestamp(), registered = excluded.registered
