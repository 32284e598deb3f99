-- Tokens of a handler with `rate` for one instance: a token for each event, p_per_second of them over all instances.
-- Tokens not asked for add up to half a second's worth, or to one. p_now: the database's clock, after the wait for the
-- lock. If it was turned back, tokens are counted from then on. wait_ms: until the next token. Locks: the handler's row
-- of handler_limit. Index: its primary key.
create or replace function inbox.take_tokens(p_handler int, p_per_second float8, p_wanted bigint)
returns table (granted bigint, wait_ms float8)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
declare
  v_now   timestamptz;
  v_spent timestamptz;
  v_from  timestamptz;
  v_saved float8;
begin
  insert into inbox.handler_limit (handler_id) values (p_handler) on conflict do nothing;
  select l.spent_until into v_spent from inbox.handler_limit l where l.handler_id = p_handler for no key update;
  v_now := clock_timestamp();
  v_from := greatest(least(v_spent, v_now), v_now - make_interval(secs => greatest(0.5, 1 / p_per_second)));
  -- A time has microseconds: the millionth keeps the last one from hiding a whole token.
  v_saved := extract(epoch from v_now - v_from) * p_per_second + 1e-6;
  granted := least(p_wanted, floor(v_saved)::bigint);
  wait_ms := greatest(1 - (v_saved - granted), 0) * 1000 / p_per_second;
  if granted > 0 or v_spent > v_now then
    update inbox.handler_limit l set spent_until = v_from + make_interval(secs => granted / p_per_second)
    where l.handler_id = p_handler;
  end if;
  return next;
end
$$;
