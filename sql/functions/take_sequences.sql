-- Takes sequences of handler p_handler that have no live owner, with fence p_fence: sequences in p_wanted (shards of
-- partitions that p_owner has assigned), and if p_orphans others that have pending rows. Their leased deliveries lose
-- their owner, and so an earlier owner can settle nothing. If there is none to take, wanted sequences with another live
-- owner are marked, so that the owner releases them.
-- p_order: as the caller is configured (config::order_text). If the handler's row says otherwise, such as in a rolling
-- deploy, the caller takes none: it would run the events in another order.
--
-- Locks: if there is a sequence to take, the exclusive advisory lock on routing. Without it an ingest transaction could
-- lease new deliveries to the earlier owner. Then the sequences and their leased deliveries, as
-- inbox.await_settlements. Else the sequences that it marks, in order. Indexes: primary key of sequence; delivery_order
-- and delivery_lane.
create or replace function inbox.take_sequences(
  p_handler int, p_owner uuid, p_fence bigint, p_lease interval, p_wanted int[], p_orphans boolean,
  p_order text)
returns setof int
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_seqscan = off as $$
declare
  v_found int[];
  v_taken int[];
begin
  with recursive pending as (
    (select d.sequence from inbox.delivery d
     where p_orphans and d.handler_id = p_handler and d.sequence is not null and d.lane is null
     order by d.sequence limit 1)
    union all
    select (select d.sequence from inbox.delivery d
            where d.handler_id = p_handler and d.sequence > p.sequence and d.lane is null
            order by d.sequence limit 1)
    from pending p where p.sequence is not null),
  in_lanes as (
    (select d.sequence from inbox.delivery d
     where p_orphans and d.handler_id = p_handler and d.lane is not null order by d.sequence limit 1)
    union all
    select (select d.sequence from inbox.delivery d
            where d.handler_id = p_handler and d.lane is not null and d.sequence > p.sequence
            order by d.sequence limit 1)
    from in_lanes p where p.sequence is not null),
  candidate as (
    select unnest(p_wanted) as sequence
    union select sequence from pending where sequence is not null
    union select sequence from in_lanes where sequence is not null)
  select array_agg(c.sequence) into v_found
  from candidate c
  where not exists (
    select from inbox.sequence s
    where s.handler_id = p_handler and s.sequence = c.sequence and s.leased_until > clock_timestamp()
      and (s.owner <> p_owner or s.sequence <> all (p_wanted)));

  if not exists (
    select from inbox.handler h
    where h.handler_id = p_handler and h.order_settings = p_order and p_order <> 'single'
      and h.retired_at is null)
  then
    return;
  end if;
  if v_found is null then
    update inbox.sequence s set wanted_by = p_owner
    where s.handler_id = p_handler and s.sequence = any (array(
      select w.sequence from inbox.sequence w
      where w.handler_id = p_handler and w.sequence = any (p_wanted) and w.sequence > 0 and w.owner <> p_owner
        and w.leased_until > clock_timestamp() and w.wanted_by is distinct from p_owner
      order by w.sequence for no key update));
    return;
  end if;

  perform pg_advisory_xact_lock(1768841848, 'inbox.routing'::regclass::oid::int);
  with taken as (
    insert into inbox.sequence as s (handler_id, sequence, owner, fence, leased_until)
    select p_handler, f.sequence, p_owner, p_fence, clock_timestamp() + p_lease
    from unnest(v_found) f(sequence) order by f.sequence
    on conflict (handler_id, sequence) do update
    set owner = excluded.owner, fence = excluded.fence, leased_until = excluded.leased_until, wanted_by = null
    where s.owner is null or s.owner = p_owner or s.leased_until <= clock_timestamp()
    returning s.sequence)
  select coalesce(array_agg(sequence), '{}') into v_taken from taken;
  perform inbox.await_settlements(p_handler, v_taken);

  update inbox.delivery d set owner = null, fence = 0
  where d.handler_id = p_handler and d.sequence = any (v_taken) and d.lane is null and d.owner is not null;
  update inbox.delivery d set owner = null, fence = 0, due_at = clock_timestamp()
  where d.handler_id = p_handler and d.sequence = any (v_taken) and d.lane is not null and d.owner is not null;
  return query select unnest(v_taken);
end
$$;
