-- The text before and after functions and views that are applied by hand ($1 the migration that they need, $2 name, $3
-- text, $4 schema, $5 release): before them the migrators' lock, a check of that migration and a check for a newer
-- release, after them the record as record_repeatable writes it. Only makes text. No locks.
select format(E'select pg_advisory_xact_lock(1768841850, hashtext(%L));\n'
              'do $$ begin if not exists (select from inbox.migration having max(version) = %s) then '
              'raise exception ''functions and views need migration %s, the newest one''; end if;\n'
              'if exists (select from inbox.repeatable_migration where name = %L and '
              'string_to_array(release, ''.'')::int[] > string_to_array(%L, ''.'')::int[]) then '
              'raise exception ''the schema has functions and views of a newer release''; end if; end $$;\n',
              $4::text, $1::int, $1::int, $2::text, $5::text) as before,
       format(E'insert into inbox.repeatable_migration (name, digest, release) values (%L, %L, %L)\n'
              'on conflict (name) do update '
              'set digest = excluded.digest, release = excluded.release, applied_at = clock_timestamp();\n',
              $2::text, md5($3::text), $5::text) as behind
