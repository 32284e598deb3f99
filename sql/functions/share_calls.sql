-- How many parallel calls process p_owner may make of a handler with `max_in_flight` p_most, for p_lease. It has up to
-- p_held now and could use p_wanted. An instance may use as many as the others do not want, and at least its even
-- share; if there are more instances than calls, the instance that was served longest ago comes first. An answer below
-- p_held asks for calls back: they stay its own until it reports fewer. Nothing held and nothing wanted: the row goes.
-- A lease that ends long after p_lease was given before the clock was turned back, and is over.
-- Locks: the handler's row of handler_limit. Index: primary key of call_share.
create or replace function inbox.share_calls(
  p_handler int, p_owner uuid, p_most int, p_wanted int, p_held int, p_lease interval)
returns int
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_seqscan = off as $$
declare
  v_now    constant timestamptz := clock_timestamp();
  v_share  inbox.call_share;
  v_shares inbox.call_share[];
  v_served timestamptz;
  v_target int;
  v_free   int;
begin
  insert into inbox.handler_limit (handler_id) values (p_handler) on conflict do nothing;
  perform from inbox.handler_limit l where l.handler_id = p_handler for no key update;
  v_shares := array(select s from inbox.call_shares(p_handler) s);
  -- A delete for each row: a join may read all rows of the handler, also the earlier rows that an old snapshot keeps.
  foreach v_share in array v_shares loop
    if v_share.owner = p_owner or not v_share.leased_until between v_now and v_now + 2 * p_lease then
      delete from inbox.call_share s
      where s.handler_id = p_handler and s.owner = v_share.owner and s.share_id = v_share.share_id;
    end if;
  end loop;
  if p_wanted + p_held = 0 then
    return 0;
  end if;
  v_served := case when p_held > 0 then v_now
                   else coalesce((select s.served_at from unnest(v_shares) s where s.owner = p_owner), '-infinity') end;
  v_shares := array(
    select s from unnest(v_shares) s
    where s.owner <> p_owner and s.leased_until between v_now and v_now + 2 * p_lease);

  with share as (
    select s.owner, s.wanted, s.served_at from unnest(v_shares) s where s.wanted > 0
    union all select p_owner, p_wanted, v_served where p_wanted > 0),
  even as (
    select s.owner, s.wanted,
           p_most / count(*) over ()
           + (row_number() over (order by s.served_at, s.owner) <= p_most % count(*) over ()
              and p_most < count(*) over ())::int as share
    from share s)
  select least(p_wanted, greatest((select e.share from even e where e.owner = p_owner),
                                  p_most - coalesce(sum(least(e.wanted, e.share)), 0)))
  into v_target from even e where e.owner <> p_owner;
  select p_most - coalesce(sum(s.calls), 0) into v_free from unnest(v_shares) s;

  v_target := least(v_target, greatest(v_free, 0));
  insert into inbox.call_share (handler_id, owner, calls, wanted, served_at, leased_until)
  values (p_handler, p_owner, greatest(v_target, p_held), p_wanted,
          case when v_target > p_held then v_now else v_served end, v_now + p_lease);
  return v_target;
end
$$;
