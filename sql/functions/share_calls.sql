-- How many parallel calls process p_owner may make of a handler with `max_in_flight` p_most, for p_lease. It has up to
-- p_held now and could use p_wanted. An instance may use as many as the others do not want, and at least its even
-- share; if there are more instances than calls, the one that was served longest ago comes first. An answer below
-- p_held asks for calls back: they stay its own until it reports fewer. Nothing held and nothing wanted: the row goes.
-- A lease that ends long after p_lease was given before the clock was turned back, and is over.
-- Locks: the handler's row of handler_limit, then its rows of call_share. Indexes: primary keys.
create or replace function inbox.share_calls(
  p_handler int, p_owner uuid, p_most int, p_wanted int, p_held int, p_lease interval)
returns int
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
declare
  v_target int;
  v_free   int;
begin
  insert into inbox.handler_limit (handler_id) values (p_handler) on conflict do nothing;
  perform from inbox.handler_limit l where l.handler_id = p_handler for no key update;
  delete from inbox.call_share s
  where s.handler_id = p_handler
    and (s.owner <> p_owner and not s.leased_until between clock_timestamp() and clock_timestamp() + 2 * p_lease
         or s.owner = p_owner and p_wanted + p_held = 0);
  if p_wanted + p_held = 0 then
    return 0;
  end if;
  insert into inbox.call_share as s (handler_id, owner, calls, wanted, leased_until)
  values (p_handler, p_owner, p_held, p_wanted, clock_timestamp() + p_lease)
  on conflict (handler_id, owner) do update
  set calls = excluded.calls, wanted = excluded.wanted, leased_until = excluded.leased_until,
      served_at = case when excluded.calls > 0 then clock_timestamp() else s.served_at end;

  with even as (
    select s.owner, s.calls, s.wanted,
           p_most / count(*) over ()
           + (row_number() over (order by s.served_at, s.owner) <= p_most % count(*) over ()
              and p_most < count(*) over ())::int as share
    from inbox.call_share s where s.handler_id = p_handler and s.wanted > 0)
  select least(p_wanted, greatest((select e.share from even e where e.owner = p_owner),
                                  p_most - coalesce(sum(least(e.wanted, e.share)), 0)))
  into v_target from even e where e.owner <> p_owner;
  select p_most - coalesce(sum(s.calls), 0) into v_free
  from inbox.call_share s where s.handler_id = p_handler and s.owner <> p_owner;

  v_target := least(v_target, greatest(v_free, 0));
  if v_target > p_held then
    update inbox.call_share s set calls = v_target, served_at = clock_timestamp()
    where s.handler_id = p_handler and s.owner = p_owner;
  end if;
  return v_target;
end
$$;
