-- Locks the sequences of handler p_handler (only p_sequences; null: all), and all leased deliveries in them or, for
-- all, of the handler. When it returns, no settlement of them is open and none begins before the caller's COMMIT.
-- Called after lock_routing, so that no rows are claimed in a sequence or born leased meanwhile.
--
-- A settlement may lock several deliveries in any order. So this function waits while it holds none: it locks all or
-- none of them, and tries again, for 10 s at most. The number of leased rows only falls meanwhile.
--
-- Locks: the sequences, in order; then leased deliveries, NOWAIT. Indexes: primary key of sequence; delivery_order and
-- delivery_lane, else delivery_due.
create or replace function inbox.await_settlements(p_handler int, p_sequences int[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' as $$
declare
  v_end timestamptz := clock_timestamp() + interval '10 s';
begin
  perform from inbox.sequence s
  where s.handler_id = p_handler and (p_sequences is null or s.sequence = any (p_sequences))
  order by s.sequence for update;
  loop
    begin
      perform from inbox.delivery d
      where d.handler_id = p_handler and (p_sequences is null or d.sequence = any (p_sequences))
        and d.owner is not null
      for update nowait;
      return;
    exception when lock_not_available then
      if clock_timestamp() > v_end then
        raise;
      end if;
    end;
    perform pg_sleep(0.005);
  end loop;
end
$$;
