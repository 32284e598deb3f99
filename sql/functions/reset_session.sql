-- Undoes session state that outlived a handler's transaction and returns a description, or null: settings, temporary
-- relations, LISTEN, cursors. p_ours: settings of the daemon. p_path: search path outside this function. No locks.
create or replace function inbox.reset_session(p_ours text[], p_path text) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_found text := '';
  v_name text;
begin
  for v_name in
    select s.name from pg_catalog.pg_settings s
    where s.source = 'session' and not s.name = any (p_ours)
      and case s.name when 'search_path' then p_path else s.setting end is distinct from s.reset_val
  loop
    v_found := v_found || ', changed the setting ' || v_name || ' for the session';
    if v_name <> 'search_path' then
      execute format('reset %I', v_name);
    end if;
  end loop;
  for v_name in
    select c.relname from pg_catalog.pg_class c
    where pg_my_temp_schema() <> 0 and c.relnamespace = pg_my_temp_schema() and c.relkind in ('r', 'v', 'S', 'm')
  loop
    v_found := v_found || ', left the temporary relation ' || v_name;
  end loop;
  if strpos(v_found, 'temporary') > 0 then
    execute 'discard temp';
  end if;
  for v_name in select pg_listening_channels() loop
    v_found := v_found || ', listens to ' || v_name;
  end loop;
  if strpos(v_found, 'listens') > 0 then
    execute 'unlisten *';
  end if;
  for v_name in select c.name from pg_catalog.pg_cursors c where c.is_holdable loop
    v_found := v_found || ', left the cursor ' || v_name || ' open';
    execute format('close %I', v_name);
  end loop;
  v_found := nullif(substr(v_found, 3), '');
  execute 'reset search_path';  -- takes effect when this function's own path ends
  return v_found;
end
$$;
