-- The offsets of a set. `rows` keeps the planner from expecting 100,000 of them. Reads no table.
create or replace function inbox.offsets_in(offsets int8multirange) returns table ("offset" bigint)
language sql immutable strict parallel safe rows 20 set search_path = pg_catalog, pg_temp as $$
  select generate_series(lower(r), upper(r) - 1) from unnest(offsets) r
$$;
