-- The event that process p_owner tried for a handler has succeeded: it runs again everywhere. Recorded in audit. Locks:
-- the handler's row. Index: primary key of handler.
create or replace function inbox.close_fuse(p_handler int, p_owner uuid, p_actor text)
returns void language sql set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
  with closed as (
    update inbox.handler h set paused_reason = null, fuse = null, trial_owner = null, trial_until = null
    where h.handler_id = p_handler and h.fuse = 'trying' and h.trial_owner = p_owner
    returning h.name)
  insert into inbox.audit (actor, operation, target, detail)
  select p_actor, 'handlers resume', c.name,
         jsonb_build_object('now', 'resumed', 'why', 'the event that it tried is done')
  from closed c
$$;
