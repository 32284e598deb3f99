-- Records the handlers $5 (ids) of this process's configuration with their settings $6, in the transaction that
-- registers them and before it runs them. Heartbeats leave these columns alone: a heartbeat with the handlers from
-- before a reload must not overwrite them. $7: the configuration has just been read, so this registration is the
-- newest. $8 its boot, $9 its member of the group, for its successor; empty: none. Locks: its own row.
insert into inbox.instance (instance_id, host, version, process_id, handlers, registered, registered_at, settings,
                            boot, member)
values ($1::uuid, $2::text, $3::text, $4::int, $5::int[], $5::int[], clock_timestamp(), $6::jsonb,
        nullif($8::text, ''), nullif($9::text, ''))
on conflict (instance_id) do update set last_seen_at = clock_timestamp(), registered = excluded.registered,
  registered_at = case when $7::boolean then excluded.registered_at else instance.registered_at end,
  settings = excluded.settings
