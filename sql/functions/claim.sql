-- Claims due deliveries of a handler, oldest first: at most p_rows rows and p_events events. Each gets a new owner,
-- fence and lease; claims rises by one. The last row is split if it has too many events.
--
-- A delivery found after a crash is claimed in halves, then singly, so that the next crash is charged to the event that
-- caused it. After the third it is a suspect and claimed alone, so that events near a culprit get a turn of their own.
-- was_alone: the last claim gave the suspect, a single event, to a call of its own, and so it crashed alone.
--
-- p_from and p_to bound the number of earlier claims; other rows are passed over and not counted as locked. An owner
-- that has a suspect in flight, of any handler, passes p_to = 2. p_low: a time before which nothing is due. Rows of
-- sequences are claimed by inbox.claim_in_order alone.
--
-- If any of the oldest rows has failed or was deferred before, half of p_events are kept for fresh rows, however late
-- they came: retries that are more than the handler can do never starve fresh events.
--
-- Locks: the rows it claims, SKIP LOCKED. Indexes: delivery_due; delivery_fresh if there are retries. Without bitmap
-- and sequential scans the planner walks the index and stops at p_rows. With statistics or a plan from before a backlog
-- it would fetch and sort all of it.
create or replace function inbox.claim(
  p_handler int, p_owner uuid, p_fence bigint, p_lease interval, p_events bigint, p_rows int, p_low timestamptz,
  p_from int default 0, p_to int default 2147483647)
returns table (delivery_id bigint, shard_id int, pending text, events int, attempts int, claims int,
               received_from bigint, received_to bigint, locked int, never_expires boolean, was_alone boolean,
               was_deferred boolean)
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_bitmapscan = off
set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
  -- Half of an odd number is rounded at random: with room for a single event, both kinds have their turns.
  v_of_fresh bigint := (p_events + (random() < 0.5)::int) / 2;
begin
  return query
  with due as materialized (
    select d.* from inbox.delivery d
    where d.handler_id = p_handler and d.due_at <= v_now and d.due_at >= p_low
      and d.claims >= p_from and d.claims <= p_to and d.sequence is null
    order by d.due_at limit p_rows for update skip locked),
  fresh as materialized (
    select d.* from inbox.delivery d
    where d.handler_id = p_handler and d.due_at <= v_now and d.due_at >= p_low
      and d.claims >= p_from and d.claims <= p_to and d.sequence is null and d.attempts = 0
      and d.last_error is null and d.owner is null
      and exists (select from due where attempts > 0 or last_error is not null)
    order by d.due_at limit p_rows for update skip locked),
  first_due as (
    select delivery_id, claims from due order by due_at, delivery_id limit 1),
  alone as (
    select f.delivery_id from first_due f where f.claims >= 3),
  shared as (
    select rows.*, share, attempts = 0 and last_error is null as is_fresh
    from (select * from due
          union all
          select f.* from fresh f where not exists (select from due d where d.delivery_id = f.delivery_id)) rows
    cross join lateral (
      select greatest(1, (events + (1 << least(claims, 20)) - 1) >> least(claims, 20))::bigint as share) s
    where case when exists (select from alone) then rows.delivery_id = (select a.delivery_id from alone a)
               else claims < 3 end),
  counted as (
    select shared.*, sum(share) over (partition by is_fresh order by due_at, delivery_id) - share as before,
           coalesce(sum(share) filter (where is_fresh) over (), 0) as all_fresh,
           coalesce(sum(share) filter (where not is_fresh) over (), 0) as all_retries
    from shared),
  bounded as (
    select counted.*, case when is_fresh then of_fresh else p_events - least(all_fresh, of_fresh) end as most
    from counted cross join lateral (select greatest(v_of_fresh, p_events - all_retries) as of_fresh) f),
  taken as (
    select bounded.*, least(share, most - before)::bigint as n, (select count(*) from due) as locked
    from bounded where before < most),
  rest as (
    insert into inbox.delivery (handler_id, shard_id, pending, events, attempts, claims, due_at, never_expires,
                                received_from, received_to, last_error)
    select handler_id, shard_id, pending - inbox.first_of(pending, n), events - n, attempts, claims, due_at,
           never_expires, received_from, received_to, last_error
    from taken where n < events and n < inbox.count_of(pending))
  update inbox.delivery d
  set owner = p_owner, fence = p_fence, claims = t.claims + 1, due_at = clock_timestamp() + p_lease,
      pending = case when t.n < t.events then inbox.first_of(t.pending, t.n) else t.pending end,
      events = least(t.n, t.events),
      alone_claim = case when t.claims >= 3 and least(t.n, t.events) = 1 then t.claims + 1 end
  from taken t
  where d.delivery_id = t.delivery_id
    -- Repeats the join, so that rows are looked up by id: if vacuum has seen only dead rows, the planner would scan the
    -- table otherwise.
    and d.delivery_id = any (array(select taken.delivery_id from taken))
  returning d.delivery_id, d.shard_id, d.pending::text, d.events, d.attempts, d.claims,
            case when isfinite(d.received_from) then (extract(epoch from d.received_from) * 1000000)::bigint end,
            case when isfinite(d.received_to) then (extract(epoch from d.received_to) * 1000000)::bigint end,
            t.locked::int, d.never_expires, t.alone_claim is not distinct from t.claims,
            t.attempts = 0 and not t.is_fresh;
end
$$;
