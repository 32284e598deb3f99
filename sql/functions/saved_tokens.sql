-- Tokens of a rate that are saved up at p_now, at most half a second's worth or a single token, if they were spent up
-- to p_spent. saved_from: the time from which they count; spending some moves it on. wait_ms: until the next token. A
-- time far ahead of p_now is from before the clock was turned back, and does not count. Without a rate, tokens is null.
create or replace function inbox.saved_tokens(
  p_spent timestamptz, p_now timestamptz, p_per_second float8,
  out saved_from timestamptz, out tokens bigint, out wait_ms float8)
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  v_first timestamptz := p_now - make_interval(secs => greatest(0.5, 1 / p_per_second));
  v_saved float8;
begin
  saved_from := case when p_spent > p_now + interval '1 s' then v_first
                     else greatest(least(p_spent, p_now), v_first) end;
  -- A time has microseconds: the millionth keeps the last microsecond from hiding a whole token.
  v_saved := extract(epoch from p_now - saved_from) * p_per_second + 1e-6;
  tokens := floor(v_saved)::bigint;
  wait_ms := greatest(1 - (v_saved - tokens), 0) * 1000 / p_per_second;
end
$$;
