-- The text before and after a migration that is applied by hand ($1 version, $2 name, $3 text, $4 schema): before it
-- the migrators' lock and a check that its turn has come, after it the record as record_migration writes it. Only makes
-- text. No locks.
select format(E'select pg_advisory_xact_lock(1768841850, hashtext(%L));\n', $4::text)
       || case when $1::int > 1 then
            format(E'do $$ begin if not exists (select from inbox.migration having max(version) = %s) then '
                   'raise exception ''migration %s is not the next one''; end if; end $$;\n', $1 - 1, $1)
          else '' end as before,
       format(E'insert into inbox.migration (version, name, digest) values (%s, %L, %L);\n', $1, $2::text,
              md5($3::text)) as behind
