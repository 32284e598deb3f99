-- The handler that a configuration's entry means, by the first of:
-- * its name $1, also if that handler is retired;
-- * its aliases $2, live handlers first;
-- * id $4 (0: unknown), if it is live and named by no entry: the database may have lost a rename;
-- * a handler that has $1 as an alias and is named by no entry ($3: all names): the configuration is older than the
--   rename.
--
-- Called after lock_routing if the handler is then changed. No locks.
select handler_id, name, aliases, topics, types, retired_at is not null, name <> $1::text and name <> all ($2::text[]),
       (extract(epoch from created_at) * 1000000)::bigint, changed_under,
       name <> $1::text and name <> all ($2::text[]) and name = any ($3::text[]), mode, order_scope,
       order_settings
from inbox.handler
where name = $1::text or name = any ($2::text[]) or ($1::text = any (aliases) and name <> all ($3::text[]))
   or handler_id = $4::int
order by (name = $1::text) desc, (name = any ($2::text[]) and retired_at is null) desc,
         (handler_id = $4::int and retired_at is null and name <> all ($3::text[])) desc,
         (name = any ($2::text[])) desc limit 1
