-- Pauses a handler (its name or an alias) for all instances, which obey within two seconds; events are still stored.
-- For operators and applications. False: it was paused already, and the reason stays. A handler that tries an event
-- after its fuse has blown is paused. So is a handler that is paused at the limit of dead letters, which would resume
-- by itself. Recorded in audit. Locks: the handler's row. Index: primary key of handler.
create or replace function inbox.pause_handler(
  p_handler text, p_reason text, p_actor text default 'sql: ' || session_user)
returns boolean language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
declare
  h inbox.handler;
begin
  if coalesce(trim(p_reason), '') = '' then
    raise exception 'name a reason for the pause' using errcode = 'invalid_parameter_value';
  end if;
  select x.* into h from inbox.handler x where x.name = inbox.handler_called(p_handler) for no key update;
  if h.handler_id is null then
    raise exception 'unknown handler %', p_handler using errcode = 'no_data_found';
  end if;
  if h.paused_reason is not null and h.fuse is distinct from 'trying' and not h.limit_paused then
    return false;
  end if;
  update inbox.handler x set paused_reason = left(p_reason, 1000), self_paused = false, limit_paused = false,
                             fuse = null, trial_owner = null, trial_until = null
  where x.handler_id = h.handler_id;
  insert into inbox.audit (actor, operation, target, detail)
  values (p_actor, 'handlers pause', h.name, jsonb_build_object('reason', left(p_reason, 1000)));
  return true;
end
$$;
