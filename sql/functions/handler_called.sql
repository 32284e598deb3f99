-- The present name of the handler with this name or former name (alias); null: none. A present name comes first, also
-- of a retired handler. No locks. Index: none, handler has few rows.
create or replace function inbox.handler_called(p_name text) returns text
language sql stable
return (
  select h.name from inbox.handler h where h.name = p_name or p_name = any (h.aliases)
  order by h.name = p_name desc, h.retired_at is null desc, h.name limit 1);
