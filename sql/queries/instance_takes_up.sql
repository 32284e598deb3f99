-- This process takes up handlers $5 (ids): known together with their registration, before it runs them. Its signs of
-- life leave them alone: one that is under way with the handlers of before a reload must not hide them. Locks: its own
-- row.
insert into inbox.instance (instance_id, host, version, process_id, handlers, taken_up)
values ($1::uuid, $2::text, $3::text, $4::int, $5::int[], $5::int[])
on conflict (instance_id) do update set last_seen_at = clock_timestamp(), taken_up = excluded.taken_up
