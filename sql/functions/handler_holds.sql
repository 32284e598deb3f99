-- For process p_owner: which of its handlers are open, held (paused) or on trial. A handler whose fuse is trying one
-- event is on trial in one process, which renews that with each call; after p_lease another takes over. Locks: rows of
-- handlers on trial. Index: primary key of handler.
create or replace function inbox.handler_holds(p_owner uuid, p_handlers int[], p_lease interval)
returns table (handler_id int, state text)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
#variable_conflict use_column
begin
  if exists (select from inbox.handler h where h.handler_id = any (p_handlers) and h.fuse = 'trying') then
    update inbox.handler h set trial_owner = p_owner, trial_until = clock_timestamp() + p_lease
    where h.handler_id = any (p_handlers) and h.fuse = 'trying'
      and (h.trial_owner is null or h.trial_owner = p_owner or h.trial_until < clock_timestamp());
  end if;
  return query
  select h.handler_id, case when h.fuse = 'trying' and h.trial_owner = p_owner then 'trial'
                            when h.paused_reason is not null then 'held' else 'open' end
  from inbox.handler h where h.handler_id = any (p_handlers);
end
$$;
