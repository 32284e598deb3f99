-- Up to p_wanted tokens of a handler with `rate` for one instance: a token for each event, p_per_second of them over
-- all instances (inbox.saved_tokens). wait_ms: until the next token. Locks: the handler's row of handler_limit. Index:
-- its primary key.
create or replace function inbox.take_tokens(p_handler int, p_per_second float8, p_wanted bigint)
returns table (granted bigint, wait_ms float8)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
declare
  v_spent timestamptz;
  v_saved record;
begin
  insert into inbox.handler_limit (handler_id) values (p_handler) on conflict do nothing;
  select l.spent_until into v_spent from inbox.handler_limit l where l.handler_id = p_handler for no key update;
  v_saved := inbox.saved_tokens(v_spent, clock_timestamp(), p_per_second);
  granted := least(p_wanted, v_saved.tokens);
  wait_ms := v_saved.wait_ms;
  if granted > 0 then
    update inbox.handler_limit l set spent_until = v_saved.saved_from + make_interval(secs => granted / p_per_second)
    where l.handler_id = p_handler;
  end if;
  return next;
end
$$;
