-- Grants up to p_wanted tokens of a handler with `rate` for an instance: a token for each event, p_per_second of them
-- over all instances (inbox.saved_tokens). wait_ms: until the next token. The newest grant is found at the end of the
-- index, however many earlier grants an old snapshot keeps. Locks: the handler's row of handler_limit. Index: primary
-- key of token_grant.
create or replace function inbox.take_tokens(p_handler int, p_per_second float8, p_wanted bigint)
returns table (granted bigint, wait_ms float8)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_seqscan = off as $$
declare
  v_last record;
  v_saved record;
begin
  insert into inbox.handler_limit (handler_id) values (p_handler) on conflict do nothing;
  perform from inbox.handler_limit l where l.handler_id = p_handler for no key update;
  select g.grant_id, g.spent_until into v_last from inbox.token_grant g
  where g.handler_id = p_handler order by g.grant_id desc limit 1;
  v_saved := inbox.saved_tokens(coalesce(v_last.spent_until, '-infinity'), clock_timestamp(), p_per_second);
  granted := least(p_wanted, v_saved.tokens);
  wait_ms := v_saved.wait_ms;
  if granted > 0 then
    delete from inbox.token_grant g where g.handler_id = p_handler and g.grant_id = v_last.grant_id;
    insert into inbox.token_grant (handler_id, spent_until)
    values (p_handler, v_saved.saved_from + make_interval(secs => granted / p_per_second));
  end if;
  return next;
end
$$;
