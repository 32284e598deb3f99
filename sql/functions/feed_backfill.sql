-- Gives a handler of p_handlers the next bite of its `handlers backfill`, if it has little else to do: live events come
-- first. p_bites: for each handler, the events of a bite at most. A history that is left (`start`) comes first.
--
-- state: none (no request of these handlers runs), waits, fed or ended (all of it is delivered, and claimed).
-- handler_id: of the request, if it was fed or has ended. wait_ms: until the next token of `rate`, if that is the
-- reason to wait. read: as in deliver_stored.
--
-- Locks: shared advisory lock on routing, so that the handler stays; the lock of op_dead_lock, so that no replay, no
-- record with an id of another topic and no trim_events meets the bite; the request, SKIP LOCKED; then as
-- deliver_stored. Index: primary key of backfill_request.
create or replace function inbox.feed_backfill(
  p_handlers int[], p_bites int[], p_bytes bigint,
  out state text, out handler_id int, out read bigint, out events bigint, out letters bigint, out wait_ms float8)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
#variable_conflict use_column
declare
  r inbox.backfill_request;
  f record;
  v_mode text;
  v_now timestamptz;
  t record;
  v_bite int;
  v_most bigint;
begin
  state := 'none'; read := 0; events := 0; letters := 0;
  for r in
    select q.* from inbox.backfill_request q join inbox.handler h using (handler_id)
    where q.handler_id = any (p_handlers) and q.ended_at is null and h.retired_at is null
      and not exists (select from inbox.backfill b where b.handler_id = q.handler_id)
    order by q.fed_at
  loop
    state := 'waits';
    v_mode := (select h.mode from inbox.handler h where h.handler_id = r.handler_id);
    v_now := clock_timestamp();
    if not exists (select from inbox.backfill_range g where g.handler_id = r.handler_id) then
      continue when inbox.events_ahead(r.handler_id, v_mode, r.fed_ids, true) > 0;
      update inbox.backfill_request q set ended_at = v_now where q.handler_id = r.handler_id and q.ended_at is null;
      state := 'ended'; handler_id := r.handler_id;
      return;
    end if;
    v_bite := p_bites[array_position(p_handlers, r.handler_id)];
    continue when inbox.events_ahead(r.handler_id, v_mode, r.fed_ids, false) >= v_bite;
    v_most := v_bite;
    t := inbox.saved_tokens(r.spent_until, v_now, r.rate);
    if r.rate is not null then
      v_most := least(v_most, t.tokens);
      if v_most = 0 then
        wait_ms := t.wait_ms;
        continue;
      end if;
    end if;
    handler_id := r.handler_id;
    exit;
  end loop;
  if handler_id is null then
    return;
  end if;

  perform inbox.require_read_committed();
  perform pg_advisory_xact_lock_shared(1768841848, 'inbox.routing'::regclass::oid::int);
  perform pg_advisory_xact_lock(1768841850, 'inbox.dead_letter'::regclass::oid::int);
  -- Fed by another instance since: its turn.
  select q.* into r from inbox.backfill_request q join inbox.handler h using (handler_id)
  where q.handler_id = feed_backfill.handler_id and q.ended_at is null and q.fed_at = r.fed_at
    and h.retired_at is null for update of q skip locked;
  if not found then
    handler_id := null;
    return;
  end if;
  select * into f from inbox.deliver_stored(r, v_most, p_bytes);
  read := f.read; events := f.events; letters := f.letters;
  state := 'fed';
  update inbox.backfill_request q
  set fed_at = clock_timestamp(),
      fed_ids = f.ids || array(select d.delivery_id from inbox.delivery d where d.delivery_id = any (q.fed_ids)),
      spent_until = case when q.rate is null then q.spent_until
                         else t.saved_from + make_interval(secs => f.events::float8 / q.rate) end,
      delivered_events = q.delivered_events + f.events, deleted_letters = q.deleted_letters + f.letters
  where q.handler_id = r.handler_id;
end
$$;
