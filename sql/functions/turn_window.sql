-- Decides about the window of batch handler p_handler, for the owner of its sequence (fence p_sequence_fence).
-- p_latest: the latest close of its schedule that has come, null if the caller knows none. p_next: the next close, for
-- people. `handlers run` (asked_at) closes the window now, as soon as the last window has ended.
--
-- state: open, events collect until the next close; closed, just now; running, its calls are not done; lost, another
-- owner. empty and postponed: the close at p_latest had no event, or fewer than p_at_least. A close is not postponed
-- p_most times in a row, nor beyond p_longest. events: of the close, counted in its first 200,000 rows.
--
-- Locks, if something changes: the sequence, which keeps the owner; the window's row. Index: delivery_order.
create or replace function inbox.turn_window(
  p_handler int, p_owner uuid, p_sequence_fence bigint, p_latest timestamptz, p_next timestamptz, p_at_least bigint,
  p_most int, p_longest interval,
  out state text, out asked_now timestamptz, out decided_until timestamptz, out closed_at timestamptz,
  out events bigint)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_seqscan = off as $$
#variable_conflict use_column
declare
  w inbox.batch_window;
  v_close timestamptz;
  v_last bigint;
  v_rows bigint;
  v_most_rows constant bigint := 200000;
begin
  asked_now := clock_timestamp();
  -- Most questions change nothing, and lock nothing.
  if not exists (select from inbox.sequence s
                 where s.handler_id = p_handler and s.sequence = 0 and s.owner = p_owner and s.fence = p_sequence_fence)
  then
    state := 'lost';
    return;
  end if;
  select * into w from inbox.batch_window x where x.handler_id = p_handler;
  if w.handler_id is null then
    insert into inbox.batch_window (handler_id) values (p_handler) on conflict do nothing;
    select * into w from inbox.batch_window x where x.handler_id = p_handler;
  end if;
  -- The clock may have been ahead, and put right.
  decided_until := least(w.decided_until, asked_now);
  closed_at := w.closed_at;
  state := case when w.closed_at is not null and w.ended_at is null then 'running' else 'open' end;
  events := case when state = 'running' then w.events else 0 end;
  if state = 'running' or w.asked_at is null and w.next_close is not distinct from p_next
     and (p_latest is null or p_latest <= decided_until or p_latest > asked_now)
  then
    return;
  end if;

  perform from inbox.sequence s
  where s.handler_id = p_handler and s.sequence = 0 and s.owner = p_owner and s.fence = p_sequence_fence for share;
  if not found then
    state := 'lost';
    return;
  end if;
  select * into w from inbox.batch_window x where x.handler_id = p_handler for no key update;
  v_close := case when w.asked_at is not null then asked_now
                  when p_latest > decided_until and p_latest <= asked_now then p_latest end;
  if v_close is not null then
    select coalesce(d.ordinal, d.delivery_id) into v_last
    from inbox.delivery d
    where d.handler_id = p_handler and d.sequence = 0 and d.lane is null
      and (d.received_from < v_close or d.received_from > asked_now)
      and (d.due_at = 'infinity' or d.due_at <= v_close)
    order by coalesce(d.ordinal, d.delivery_id) desc limit 1;
    -- The first rows only: a close takes no longer, however many events wait.
    select coalesce(sum(f.events), 0), count(*) into events, v_rows
    from (select d.events from inbox.delivery d
          where d.handler_id = p_handler and d.sequence = 0 and d.lane is null
            and coalesce(d.ordinal, d.delivery_id) <= v_last
            and (d.received_from < v_close or d.received_from > asked_now)
            and (d.due_at = 'infinity' or d.due_at <= v_close)
          order by coalesce(d.ordinal, d.delivery_id) limit v_most_rows) f;
    decided_until := v_close;
    w.postponed_since := coalesce(w.postponed_since, v_close);
    if events = 0 then
      state := 'empty';
    elsif w.asked_at is null and events < p_at_least and v_rows < v_most_rows and w.postponed < p_most
          and p_next <= w.postponed_since + p_longest then
      state := 'postponed';
      w.postponed := w.postponed + 1;
    else
      state := 'closed';
      w.closed_at := v_close;
      w.began_at := asked_now;
      w.ended_at := null;
      w.last_ordinal := v_last;
      w.grouped_to := -1;
      w.events := events;
      w.retrying := 0;
      w.dead := 0;
    end if;
    if state <> 'postponed' then
      w.postponed := 0;
      w.postponed_since := null;
    end if;
    w.asked_at := null;
  end if;
  update inbox.batch_window x
  set decided_until = turn_window.decided_until, next_close = p_next, asked_at = w.asked_at,
      postponed = w.postponed, postponed_since = w.postponed_since, closed_at = w.closed_at, began_at = w.began_at,
      ended_at = w.ended_at, last_ordinal = w.last_ordinal, grouped_to = w.grouped_to, events = w.events,
      retrying = w.retrying, dead = w.dead
  where x.handler_id = p_handler;
  closed_at := w.closed_at;
end
$$;
