-- A handler by its name, by one of its former names, or, where this name is a former one of a handler that none of the
-- configuration's ($3) is called like, by that: the configuration is older than the rename. Or by its id $4 (0: not
-- known), whatever it is called: the database may have been set back to before a rename, or it is another of the
-- configuration's now. One that is not retired goes first: a handler that lives takes the name of one that does not.
-- Locks: the row.
select handler_id, name, aliases, topics, types, retired_at is not null, name <> $1::text and name <> all ($2::text[]),
       (extract(epoch from created_at) * 1000000)::bigint, changed_under,
       name <> $1::text and name <> all ($2::text[]) and name = any ($3::text[])
from inbox.handler
where name = $1::text or name = any ($2::text[]) or ($1::text = any (aliases) and name <> all ($3::text[]))
   or handler_id = $4::int
order by (name = $1::text and retired_at is null) desc, (name = any ($2::text[]) and retired_at is null) desc,
         (handler_id = $4::int and retired_at is null and name <> all ($3::text[])) desc,
         (name = $1::text) desc, (name = any ($2::text[])) desc limit 1 for update
