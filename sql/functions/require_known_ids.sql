-- Raises serialization_failure unless all ids of a batch are still in the ledger. If trim_ledger deletes ids while a
-- batch brings them again, a statement finds them and the next does not. The caller repeats the batch, which then
-- stores them as new events. No locks.
create or replace function inbox.require_known_ids(p_known bigint, p_all bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if p_known < p_all then
    raise exception 'event ids of this batch were trimmed from the ledger while it was stored; repeat the batch'
      using errcode = 'serialization_failure';
  end if;
end
$$;
