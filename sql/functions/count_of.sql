-- The number of offsets in a set. Reads no table.
create or replace function inbox.count_of(offsets int8multirange) returns int
language sql immutable strict parallel safe
return (select coalesce(sum(upper(r) - lower(r)), 0)::int from unnest(offsets) r);
