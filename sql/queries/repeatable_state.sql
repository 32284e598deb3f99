-- Whether functions and views ($1 name, $2 text) are due, and whether a release newer than $3 applied others. Called
-- only if the numbered migrations are applied. No locks.
select coalesce(bool_and(r.digest <> md5($2::text) and not x.is_newer), true) as is_due,
       coalesce(bool_and(r.digest <> md5($2::text) and x.is_newer), false) as is_newer
from inbox.repeatable_migration r
cross join lateral (
  select string_to_array(r.release, '.')::int[] > string_to_array($3::text, '.')::int[] as is_newer) x
where r.name = $1::text
