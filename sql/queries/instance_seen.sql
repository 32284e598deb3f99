-- This process lives. Locks: its own row.
insert into inbox.instance (instance_id, host, version, process_id) values ($1::uuid, $2::text, $3::text, $4::int)
on conflict (instance_id) do update set last_seen_at = clock_timestamp(),
  stopped_at = case when $5::boolean then clock_timestamp() end
