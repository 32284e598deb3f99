-- Ends a transaction that settles unless all of its deliveries were settled: otherwise a lease was lost. No locks.
create or replace function inbox.require_all_settled(p_settled bigint, p_wanted bigint) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_settled <> p_wanted then
    raise exception 'leases lost: settled % of % deliveries', p_settled, p_wanted using errcode = 'IL001';
  end if;
  return p_settled;
end
$$;
