-- Locks sequences, in order, before rows of their lanes change. p_alone: rows are added to lanes or taken out of their
-- order. Otherwise first rows of lanes end, which others may do in other lanes at the same time. A statement that adds
-- a row to a lane and another that ends its only row would each see the lane as it was, and nothing would advance it.
-- An advisory lock, because a shared lock of the row lets others pass that only share it: who wants it alone, such as a
-- renewal, might wait for ever. The row is locked, too: no row is added to a sequence that has gone.
-- Locks: advisory locks of the sequences, then their rows. Index: primary key of sequence.
create or replace function inbox.lock_lanes(p_handler int[], p_sequence int[], p_alone boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_key bigint;
begin
  for v_key in
    select hashtextextended(format('%s %s %s', 'inbox.sequence'::regclass::oid, s.handler, s.sequence), 0)
    from (select distinct handler, sequence from unnest(p_handler, p_sequence) x(handler, sequence)
          where sequence is not null) s
    order by s.handler, s.sequence
  loop
    if p_alone then
      perform pg_advisory_xact_lock(v_key);
    else
      perform pg_advisory_xact_lock_shared(v_key);
    end if;
  end loop;
  if p_alone then
    perform from inbox.sequence s
    where (s.handler_id, s.sequence) in (select * from unnest(p_handler, p_sequence))
    order by s.handler_id, s.sequence for no key update;
  else
    perform from inbox.sequence s
    where (s.handler_id, s.sequence) in (select * from unnest(p_handler, p_sequence))
    order by s.handler_id, s.sequence for key share;
  end if;
end
$$;
