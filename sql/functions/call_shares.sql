-- The newest row of each owner in a handler's call_share. It goes from the last owner to the first, so that it meets an
-- owner's newest row before the earlier rows that an old snapshot keeps. Locks: none; the caller holds the lock on the
-- handler's row of handler_limit. Index: primary key of call_share.
create or replace function inbox.call_shares(p_handler int)
returns setof inbox.call_share
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  v_share inbox.call_share;
begin
  select s.* into v_share from inbox.call_share s
  where s.handler_id = p_handler order by s.owner desc, s.share_id desc limit 1;
  while v_share.owner is not null loop
    return next v_share;
    select s.* into v_share from inbox.call_share s
    where s.handler_id = p_handler and s.owner < v_share.owner order by s.owner desc, s.share_id desc limit 1;
  end loop;
end
$$;
