-- Ends the leases of processes p_owners, which have gone, so that p_successor need not wait for their ends: at most
-- p_limit deliveries. Owners and fences stay, and so all is as if the time of the leases had come. Crashes stay
-- charged. A process that lives after all keeps leases that it renews before another process takes them.
--
-- Deliveries of a sequence have no time of their own: who takes the sequence next ends their leases.
--
-- Returns whether no lease is left, and then notes p_successor, so that this happens once. Rows that an open
-- transaction of p_owners has locked are left for the next call.
--
-- Locks: shared advisory lock on routing; the sequences, the deliveries and handlers on trial, all SKIP LOCKED; the
-- rows of handler_limit, in order; the rows of local_reader, relay, ingest_right and instance. Index: delivery_due.
create or replace function inbox.end_leases(p_owners uuid[], p_successor uuid, p_limit int) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_seqscan = off
set enable_bitmapscan = off as $$
begin
  perform pg_advisory_xact_lock_shared(1768841848, 'inbox.routing'::regclass::oid::int);
  with mine as materialized (
    select s.handler_id, s.sequence from inbox.sequence s
    where s.owner = any (p_owners) and s.leased_until > clock_timestamp()
    for no key update skip locked)
  update inbox.sequence s set leased_until = clock_timestamp()
  from mine where s.handler_id = mine.handler_id and s.sequence = mine.sequence;

  with mine as materialized (
    select d.delivery_id
    from inbox.handler h
    cross join lateral (
      select x.delivery_id from inbox.delivery x
      where x.handler_id = h.handler_id and x.due_at > statement_timestamp()
        and x.due_at <= statement_timestamp() + interval '1 hour'
        and x.owner = any (p_owners)
      limit p_limit for update skip locked) d
    limit p_limit)
  update inbox.delivery d set due_at = clock_timestamp()
  from mine where d.delivery_id = mine.delivery_id and d.delivery_id = any (array(select m.delivery_id from mine m));

  update inbox.handler h set trial_until = clock_timestamp()
  where h.handler_id in (
    select x.handler_id from inbox.handler x where x.trial_owner = any (p_owners) for no key update skip locked);
  perform from inbox.handler_limit l
  where l.handler_id in (select s.handler_id from inbox.call_share s where s.owner = any (p_owners))
  order by l.handler_id for no key update;
  delete from inbox.call_share s where s.owner = any (p_owners);
  update inbox.local_reader r set leased_until = clock_timestamp() where r.owner = any (p_owners);
  update inbox.relay r set leased_until = clock_timestamp() where r.owner = any (p_owners);
  update inbox.ingest_right r set leased_until = clock_timestamp() where r.owner = any (p_owners);

  if exists (select from inbox.sequence s where s.owner = any (p_owners) and s.leased_until > clock_timestamp())
    or exists (
      select from inbox.handler h
      cross join lateral (
        select from inbox.delivery x
        where x.handler_id = h.handler_id and x.due_at > statement_timestamp()
        and x.due_at <= statement_timestamp() + interval '1 hour'
          and x.due_at > clock_timestamp() and x.owner = any (p_owners)
        limit 1) d)
  then
    return false;
  end if;
  update inbox.instance i set successor = p_successor where i.instance_id = any (p_owners);
  return true;
end
$$;
