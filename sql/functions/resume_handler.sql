-- Resumes a handler (its name or an alias). A handler that a fuse has paused tries an event first: success resumes it,
-- a failure pauses it again; resumed once more, it does not try. The answer: resumed, trying, or running (it was not
-- paused). Recorded in audit. Locks: the handler's row. Index: primary key of handler.
create or replace function inbox.resume_handler(p_handler text, p_actor text default 'sql: ' || session_user)
returns text language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
declare
  h inbox.handler;
  v_answer text;
begin
  select x.* into h from inbox.handler x where x.name = inbox.handler_called(p_handler) for no key update;
  if h.handler_id is null then
    raise exception 'unknown handler %', p_handler using errcode = 'no_data_found';
  end if;
  if h.paused_reason is null then
    return 'running';
  end if;
  v_answer := case when h.fuse = 'blown' then 'trying' else 'resumed' end;
  update inbox.handler x
  set fuse = case v_answer when 'trying' then 'trying' end, trial_owner = null, trial_until = null,
      self_paused = false, limit_paused = false,
      paused_reason = case v_answer when 'trying' then 'trying one event after: ' || h.paused_reason end
  where x.handler_id = h.handler_id;
  insert into inbox.audit (actor, operation, target, detail)
  values (p_actor, 'handlers resume', h.name, jsonb_build_object('paused_reason', h.paused_reason, 'now', v_answer));
  return v_answer;
end
$$;
