-- This process lives, and what troubles it. Locks: its own row.
insert into inbox.instance (instance_id, host, version, process_id, trouble)
values ($1::uuid, $2::text, $3::text, $4::int, $6::text)
on conflict (instance_id) do update set last_seen_at = clock_timestamp(), trouble = excluded.trouble,
  stopped_at = case when $5::boolean then clock_timestamp() end
