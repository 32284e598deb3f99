-- What stands around a migration that somebody else applies ($1 version, $2 name, $3 its text, $4 the schema's name):
-- before it the migrators' lock, and that it is its turn; behind it the note that it is applied, as record_migration
-- writes it. Only makes text. No locks.
select format(E'select pg_advisory_xact_lock(1768841850, hashtext(%L));\n', $4::text)
       || case when $1::int > 1 then
            format(E'do $$ begin if not exists (select from inbox.migration having max(version) = %s) then '
                   'raise exception ''migration %s is not what comes next''; end if; end $$;\n', $1 - 1, $1)
          else '' end as before,
       format(E'insert into inbox.migration (version, name, digest) values (%s, %L, %L);\n', $1, $2::text,
              md5($3::text)) as behind
