-- Pauses a handler because it keeps failing (p_is_fuse), or because of an error that its rules name. A handler that is
-- paused already is left alone, unless process p_owner has it on trial. Recorded in audit. Locks: the handler's row.
-- Index: primary key of handler.
create or replace function inbox.blow_fuse(
  p_handler int, p_owner uuid, p_reason text, p_is_fuse boolean, p_actor text)
returns void language sql set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
  with blown as (
    update inbox.handler h
    set paused_reason = p_reason, self_paused = true, fuse = case when p_is_fuse then 'blown' end,
        trial_owner = null, trial_until = null
    where h.handler_id = p_handler and (h.paused_reason is null or h.fuse = 'trying' and h.trial_owner = p_owner)
    returning h.name)
  insert into inbox.audit (actor, operation, target, detail)
  select p_actor, 'handlers pause', b.name, jsonb_build_object('reason', p_reason) from blown b
$$;
