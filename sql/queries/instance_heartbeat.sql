-- This process's heartbeat: its problem $6, the handlers $7 (ids) that it runs, the topics $8 that it reads, the
-- figures $9 of its handlers, those $10 of its last hour (null: as before); $5: it stops. Returns the start of the
-- server. Locks: its own row. A history that was toasted before is not written again.
insert into inbox.instance (instance_id, host, version, process_id, trouble, handlers, topics, activity, history)
values ($1::uuid, $2::text, $3::text, $4::int, $6::text, $7::int[], $8::text[], $9::jsonb, $10::bytea)
on conflict (instance_id) do update set last_seen_at = clock_timestamp(), trouble = excluded.trouble,
  handlers = excluded.handlers, topics = excluded.topics, activity = excluded.activity,
  history = coalesce(excluded.history, inbox.instance.history),
  stopped_at = case when $5::boolean then clock_timestamp() end
returning extract(epoch from pg_postmaster_start_time())::text
