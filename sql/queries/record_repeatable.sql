-- Records the functions and views ($1 name, $2 text) that release $3 applied. Called after lock_migrations. Locks: its
-- row.
insert into inbox.repeatable_migration (name, digest, release) values ($1::text, md5($2::text), $3::text)
on conflict (name) do update
set digest = excluded.digest, release = excluded.release, applied_at = clock_timestamp()
