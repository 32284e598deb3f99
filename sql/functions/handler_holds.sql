-- For process p_owner: which of its handlers are open, held or on trial. Held: paused, or registered since by a
-- configuration with other order settings than those of this process. A handler whose fuse is trying an event is on
-- trial in a single process that may try it (p_may_try). That process renews the trial with each call; after p_lease,
-- or if the clock was turned back, another takes over. A handler whose row another session has locked is answered as it
-- is. Locks: rows of handlers on trial, `SKIP LOCKED`. Indexes: primary keys of handler and instance.
create or replace function inbox.handler_holds(p_owner uuid, p_handlers int[], p_may_try int[], p_lease interval)
returns table (handler_id int, state text)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
#variable_conflict use_column
begin
  if exists (select from inbox.handler h where h.handler_id = any (p_may_try) and h.fuse = 'trying') then
    update inbox.handler h set trial_owner = p_owner, trial_until = clock_timestamp() + p_lease
    where h.handler_id in (
      select x.handler_id from inbox.handler x
      where x.handler_id = any (p_may_try) and x.fuse = 'trying'
        and (x.trial_owner is null or x.trial_owner = p_owner
             or not x.trial_until between clock_timestamp() and clock_timestamp() + 2 * p_lease)
      for no key update skip locked);
  end if;
  return query
  select h.handler_id, case when o.differs then 'held'
                            when h.fuse = 'trying' and h.trial_owner = p_owner and h.handler_id = any (p_may_try)
                              then 'trial'
                            when h.paused_reason is not null then 'held' else 'open' end
  from inbox.handler h
  cross join lateral (
    select exists (
      select from inbox.instance i
      where i.instance_id = p_owner and i.settings -> h.handler_id::text ->> 'order' <> h.order_settings) as differs) o
  where h.handler_id = any (p_handlers);
end
$$;
