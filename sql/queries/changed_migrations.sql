-- Applied migrations whose text differs from this program's ($1 versions, $2 texts). No locks.
select m.name from inbox.migration m join unnest($1::int[], $2::text[]) known(version, sql) using (version)
where m.digest <> md5(known.sql) order by m.version
