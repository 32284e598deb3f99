-- Claims deliveries of the closed window of batch handler p_handler, for the owner of its sequence, by arrival. With
-- p_groups, it cuts a few rows by key each time; once all are cut, it claims by key, and by arrival within a key.
--
-- The unit is the call, of up to p_call events: calls are made by arrival from the rows that are left, so after a crash
-- the same events share a call again. If the first row left was found after a third crash, its call is a suspect and
-- claimed alone; later rows of the call with fewer crashes join it as suspects, but keep their number. After
-- p_max_crashes crashes, the rows with the same number of crashes are the call, and half of them are claimed. So the
-- event that crashes is alone in the end. was_alone, p_from and p_to: as in inbox.claim.
--
-- Returns a row for each delivery, then a row with the state: more, end (all rows that are left are leased), waits
-- (history comes first, or a suspect may not run now), ended (none is left: the window is over) or lost (another
-- owner).
--
-- Locks: shared advisory lock on routing, which keeps the owner; the deliveries that it takes, SKIP LOCKED; the
-- window's row at its end. Indexes: delivery_order or delivery_group; delivery_due;
-- dead_letter_handler.
create or replace function inbox.claim_window(
  p_handler int, p_owner uuid, p_fence bigint, p_sequence_fence bigint, p_events bigint, p_rows int, p_groups boolean,
  p_from int, p_to int, p_call int, p_max_crashes int)
returns table (state text, sequence int, epoch int, next_offset bigint, delivery_id bigint, shard_id int, pending text,
               events int, attempts int, claims int, received_from bigint, received_to bigint, ordinal bigint,
               lane bigint, group_key bigint, never_expires boolean, was_alone boolean)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_bitmapscan = off
set enable_seqscan = off set enable_sort = off set jit = off as $$
#variable_conflict use_column
declare
  w inbox.batch_window;
  d inbox.delivery;
  c refcursor;
  v_state text := 'end';
  v_left bigint := p_events;
  v_share bigint;
  v_claims int := 0;  -- of the suspect
  v_events bigint := 0;
  v_found inbox.delivery[] := '{}';
  v_taken inbox.delivery[] := '{}';
begin
  perform pg_advisory_xact_lock_shared(1768841848, 'inbox.routing'::regclass::oid::int);
  select * into w from inbox.batch_window x where x.handler_id = p_handler;
  if not exists (select from inbox.sequence s
                 where s.handler_id = p_handler and s.sequence = 0 and s.owner = p_owner and s.fence = p_sequence_fence)
  then
    v_state := 'lost';
  elsif w.closed_at is null or w.ended_at is not null then
    v_state := 'ended';
  elsif exists (select from inbox.backfill f where f.handler_id = p_handler) then
    v_state := 'waits';
  elsif p_groups and inbox.group_window(w, 20000) then
    v_state := 'more';
  else
    if p_groups then
      open c for
        select x.* from inbox.delivery x
        where x.handler_id = p_handler and x.group_key is not null and x.owner is null and inbox.is_in_window(x, w)
        order by x.group_key, coalesce(x.ordinal, x.delivery_id), inbox.stored_at(x), x.shard_id, lower(x.pending)
        limit greatest(p_rows, p_call) for update skip locked;
    else
      open c for
        select x.* from inbox.delivery x
        where x.handler_id = p_handler and x.sequence = 0 and x.lane is null and x.owner is null
          and coalesce(x.ordinal, x.delivery_id) <= w.last_ordinal and inbox.is_in_window(x, w)
        order by coalesce(x.ordinal, x.delivery_id), inbox.stored_at(x), x.shard_id, lower(x.pending)
        limit greatest(p_rows, p_call) for update skip locked;
    end if;
    loop
      fetch c into d;
      exit when not found;
      v_state := 'more';
      if cardinality(v_found) = 0 then
        if d.claims < p_from or d.claims > p_to then
          v_state := 'waits';
          exit;
        end if;
        if d.claims >= 3 then
          v_claims := d.claims;
          v_left := p_call;
        end if;
      end if;
      exit when d.claims >= 3 and d.claims > v_claims
        or v_claims > 0 and d.group_key is distinct from (v_found[1]).group_key
        or v_claims >= p_max_crashes and d.claims < v_claims;
      v_found := v_found || d;
      v_events := v_events + d.events;
      exit when v_events >= v_left;
    end loop;
    close c;
    if v_claims >= p_max_crashes then
      v_left := greatest(least(v_events, v_left) / 2, 1);
    end if;
    foreach d in array v_found loop
      exit when v_left <= 0;
      v_share := least(d.events, v_left);
      v_taken := v_taken || inbox.cut_delivery(d, v_share);
      v_left := v_left - v_share;
    end loop;
    -- The caller asks again after `more`, and finds `end`.
    if v_state = 'end' and not exists (
      select from inbox.delivery x
      where x.handler_id = p_handler and x.sequence = 0 and x.lane is null
        and coalesce(x.ordinal, x.delivery_id) <= w.last_ordinal and inbox.is_in_window(x, w)
        and (x.group_key is not null or not p_groups))
    then
      v_state := 'ended';
      update inbox.batch_window x
      set ended_at = clock_timestamp(),
          retrying = (select coalesce(sum(r.events), 0) from inbox.delivery r
                      where r.handler_id = p_handler and r.due_at < 'infinity' and r.sequence = 0 and r.lane is null
                        and not r.postponed),
          dead = (select count(*) from inbox.dead_letter l
                  where l.handler_id = p_handler and l.died_at >= w.began_at)
      where x.handler_id = p_handler;
    end if;
  end if;

  update inbox.delivery x
  set owner = p_owner, fence = p_fence, claims = x.claims + 1, due_at = 'infinity',
      alone_claim = case when v_claims > 0 and cardinality(v_taken) = 1 and x.events = 1 then x.claims + 1 end
  where x.delivery_id = any (array(select t.delivery_id from unnest(v_taken) t));
  return query
  select 'claimed', 0, null::int, null::bigint, t.delivery_id, t.shard_id, t.pending::text, t.events,
         t.attempts, greatest(t.claims, v_claims) + 1,
         case when isfinite(t.received_from) then (extract(epoch from t.received_from) * 1000000)::bigint end,
         case when isfinite(t.received_to) then (extract(epoch from t.received_to) * 1000000)::bigint end,
         coalesce(t.ordinal, t.delivery_id), null::bigint, t.group_key, t.never_expires,
         t.alone_claim is not distinct from t.claims
  from unnest(v_taken) with ordinality t order by t.ordinality;
  return query select v_state, 0, null::int, null::bigint, null::bigint, null::int, null::text, null::int, null::int,
                      null::int, null::bigint, null::bigint, null::bigint, null::bigint, null::bigint, null::boolean,
                      null::boolean;
end
$$;
