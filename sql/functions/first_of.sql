-- The first n offsets of a set. Reads no table.
create or replace function inbox.first_of(offsets int8multirange, n bigint) returns int8multirange
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp as $$
declare
  taken int8multirange := '{}';
  r int8range;
begin
  for r in select x from unnest(offsets) x order by lower(x) loop
    exit when n <= 0;
    taken := taken + int8multirange(int8range(lower(r), least(upper(r), lower(r) + n)));
    n := n - (upper(r) - lower(r));
  end loop;
  return taken;
end
$$;
