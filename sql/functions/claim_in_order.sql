-- Claims deliveries of sequences that p_owner owns, in the order of storing, and the first rows of lanes that are due.
--
-- q_: the sequences to read, each from an ordinal on, with a mark (ordinal and last offset). Leased rows up to the mark
-- are in the owner's memory. A leased row beyond it is not (a claim without an answer) and ends the reading of its
-- sequence. Rows that were stored out of order, such as a record retried from quarantine, are found from -1 on. So are
-- rows of a running `handlers backfill`, which may become visible after later rows. o_: all sequences of the owner with
-- their fences, for lanes. While rows of q_ wait, lanes get at most half of p_events, so that retries never starve
-- fresh events. p_rows: of each sequence. First rows of lanes have few events each, so they may be 16 times as many.
--
-- A row found after a third crash is a suspect. It is cut to 1/2^claims of its events and claimed alone in its
-- sequence. A claim takes at most one suspect of all sequences and lanes: the suspect with the fewest crashes, so that
-- innocent rows run before the culprit. was_alone, p_from and p_to: as in inbox.claim.
--
-- Returns a row for each delivery, and a row for each sequence of q_ with its state: end (no row is left), more,
-- leased, waits (a backfill comes first or gives more, or a suspect may not run now) or lost (another owner). With it
-- the shard's position from before its rows were read: all deliveries below that position are claimed, if the state is
-- end.
--
-- Locks: shared advisory lock on routing, which keeps the owner; the deliveries that it takes, and that join_lane adds
-- to them, SKIP LOCKED. Indexes: delivery_order; delivery_due and delivery_lane for lanes.
create or replace function inbox.claim_in_order(
  p_handler int, p_owner uuid, p_fence bigint, p_events bigint, p_rows int, p_low timestamptz,
  o_sequence int[], o_fence bigint[], q_sequence int[], q_start bigint[], q_mark bigint[], q_mark_offset bigint[],
  p_from int, p_to int)
returns table (state text, sequence int, epoch int, next_offset bigint, delivery_id bigint, shard_id int, pending text,
               events int, attempts int, claims int, received_from bigint, received_to bigint, ordinal bigint,
               lane bigint, never_expires boolean, was_alone boolean)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_bitmapscan = off
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  q record;
  d inbox.delivery;
  v_owned int[];
  v_now timestamptz := clock_timestamp();
  v_each bigint := greatest(p_events / greatest(cardinality(q_sequence), 1), 64);
  v_total bigint := p_events;
  -- Half of an odd number is rounded at random: with room for a single event, both kinds have their turns.
  v_of_lanes bigint := case when cardinality(q_sequence) = 0 then p_events
                            else (p_events + (random() < 0.5)::int) / 2 end;
  v_left bigint;
  v_share bigint;
  v_rows int;
  v_state text;
  v_is_history boolean;
  v_is_fed boolean;
  v_taken inbox.delivery[] := '{}';
  v_suspect inbox.delivery;
begin
  perform pg_advisory_xact_lock_shared(1768841848, 'inbox.routing'::regclass::oid::int);
  select coalesce(array_agg(s.sequence), '{}') into v_owned
  from unnest(o_sequence, o_fence) o(sequence, fence)
  join inbox.sequence s on s.handler_id = p_handler and s.sequence = o.sequence and s.fence = o.fence
                       and s.owner = p_owner;
  select exists (
    select from inbox.backfill_request r where r.handler_id = p_handler and r.ended_at is null) into v_is_fed;

  for d in
    select x.* from inbox.delivery x
    where x.handler_id = p_handler and x.due_at <= v_now and x.due_at >= p_low and x.lane is not null
      and x.owner is null and x.sequence = any (v_owned) and x.claims >= p_from and x.claims <= p_to
    order by x.due_at limit p_rows * 16 for update skip locked
  loop
    continue when exists (
      select from inbox.delivery e
      where e.handler_id = p_handler and e.sequence = d.sequence and e.lane = d.lane
        and (coalesce(e.ordinal, e.delivery_id), inbox.stored_at(e), e.shard_id, lower(e.pending))
            < (coalesce(d.ordinal, d.delivery_id), inbox.stored_at(d), d.shard_id, lower(d.pending)));
    if d.claims >= 3 then
      if v_suspect.delivery_id is null or d.claims < v_suspect.claims then
        v_suspect := d;
      end if;
      continue;
    end if;
    exit when v_of_lanes <= 0;
    d := inbox.join_lane(d, v_of_lanes);
    v_share := least(d.events, v_of_lanes);
    v_taken := v_taken || inbox.cut_delivery(d, v_share);
    v_of_lanes := v_of_lanes - v_share;
    v_total := v_total - v_share;
  end loop;

  for q in
    select s.*, p.epoch, p.next_offset
    from unnest(q_sequence, q_start, q_mark, q_mark_offset) with ordinality
         s(sequence, start, mark, mark_offset, place)
    left join lateral (
      select x.epoch, x.next_offset from inbox.position x
      where x.shard_id = s.sequence order by x.epoch desc, x.first_offset desc limit 1) p on true
    order by s.place
  loop
    v_state := case when q.sequence = any (v_owned) then 'end' else 'lost' end;
    v_left := least(v_each, v_total);
    v_rows := 0;
    if v_state = 'end' and v_left <= 0 then
      v_state := 'more';
    elsif v_state = 'end' then
      for d in
        select x.* from inbox.delivery x
        where x.handler_id = p_handler and x.sequence = q.sequence and x.lane is null
          and coalesce(x.ordinal, x.delivery_id) >= case when v_is_fed then -1 else q.start end
        order by coalesce(x.ordinal, x.delivery_id), inbox.stored_at(x), x.shard_id, lower(x.pending)
      loop
        if d.owner is not null then
          continue when (coalesce(d.ordinal, d.delivery_id), lower(d.pending)) <= (q.mark, q.mark_offset);
          v_state := 'leased';
          exit;
        end if;
        select exists (
          select from inbox.backfill f
          where f.handler_id = p_handler and (q.sequence = 0 or f.shard_id = d.shard_id)
            and (q.sequence = 0 or f.next_offset <= lower(d.pending))) into v_is_history;
        if v_is_history or d.claims < p_from or d.claims > p_to then
          v_state := 'waits';
          exit;
        end if;
        if d.claims >= 3 and v_rows > 0 or v_left <= 0 or v_rows >= p_rows then
          v_state := 'more';
          exit;
        end if;
        if d.claims >= 3 then
          if v_suspect.delivery_id is null or d.claims < v_suspect.claims then
            v_suspect := d;
          end if;
          v_state := 'more';
          exit;
        end if;
        -- Locks only rows that it takes: settlements lock leased rows, in another order.
        select x.* into d from inbox.delivery x
        where x.delivery_id = d.delivery_id and x.owner is null for update skip locked;
        if not found then
          v_state := 'more';
          exit;
        end if;
        v_share := least(d.events, v_left);
        v_taken := v_taken || inbox.cut_delivery(d, v_share);
        v_left := v_left - v_share;
        v_total := v_total - v_share;
        v_rows := v_rows + 1;
        if v_share < d.events then
          v_state := 'more';
          exit;
        end if;
      end loop;
      if v_state = 'end' and v_is_fed
        or v_state = 'end' and q.sequence <> 0 and exists (
        select from inbox.backfill f where f.handler_id = p_handler and f.shard_id = q.sequence)
        or v_state = 'end' and q.sequence = 0 and exists (
        select from inbox.backfill f where f.handler_id = p_handler)
      then
        v_state := 'waits';
      end if;
    end if;
    return query select v_state, q.sequence, q.epoch, q.next_offset, null::bigint, null::int, null::text, null::int,
                        null::int, null::int, null::bigint, null::bigint, null::bigint, null::bigint, null::boolean,
                        null::boolean;
  end loop;

  select x.* into v_suspect from inbox.delivery x
  where x.delivery_id = v_suspect.delivery_id and x.owner is null for update skip locked;
  if found then
    v_taken := v_taken || inbox.cut_delivery(v_suspect, inbox.share_after_crashes(v_suspect));
  end if;

  update inbox.delivery x set owner = p_owner, fence = p_fence, claims = x.claims + 1, due_at = 'infinity',
      alone_claim = case when x.claims >= 3 and x.events = 1 then x.claims + 1 end
  where x.delivery_id = any (array(select t.delivery_id from unnest(v_taken) t));
  return query
  select 'claimed', t.sequence, null::int, null::bigint, t.delivery_id, t.shard_id, t.pending::text, t.events,
         t.attempts, t.claims + 1,
         case when isfinite(t.received_from) then (extract(epoch from t.received_from) * 1000000)::bigint end,
         case when isfinite(t.received_to) then (extract(epoch from t.received_to) * 1000000)::bigint end,
         coalesce(t.ordinal, t.delivery_id), t.lane, t.never_expires,
         t.alone_claim is not distinct from t.claims
  from unnest(v_taken) with ordinality t order by t.ordinality;
end
$$;
