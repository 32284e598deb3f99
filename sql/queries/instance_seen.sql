-- This process lives, what troubles it, and which handlers ($7, ids) it runs. Locks: its own row.
insert into inbox.instance (instance_id, host, version, process_id, trouble, handlers)
values ($1::uuid, $2::text, $3::text, $4::int, $6::text, $7::int[])
on conflict (instance_id) do update set last_seen_at = clock_timestamp(), trouble = excluded.trouble,
  handlers = excluded.handlers, stopped_at = case when $5::boolean then clock_timestamp() end
