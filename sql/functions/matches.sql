-- Whether a name is in a list of exact names and prefixes (ending in *). An empty list matches every name. Reads no
-- table.
create or replace function inbox.matches(name text, patterns text[]) returns boolean
language sql immutable parallel safe
return cardinality(patterns) = 0 or exists (
  select from unnest(patterns) p
  where case when right(p, 1) = '*' then starts_with(name, left(p, -1)) else name = p end);
