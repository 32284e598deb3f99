-- Records deliveries of dropped or forgotten events as skipped, guarded as in inbox.settle by id, fence and owner, and
-- makes the next rows of their lanes due. Locks: the sequences of lanes, then the deliveries, in order of id. Indexes:
-- primary key of delivery, delivery_lane.
create or replace function inbox.settle_skipped(p_owner uuid, d_id bigint[], d_fence bigint[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '10s' set enable_seqscan = off as $$
declare
  v_gone inbox.delivery[];
begin
  perform inbox.lock_lanes(array_agg(t.handler_id), array_agg(t.sequence), false)
  from (select d.handler_id, d.sequence, d.lane from inbox.delivery d where d.delivery_id = any (d_id) offset 0) t
  where t.lane is not null;
  perform from inbox.delivery d where d.delivery_id = any (d_id) order by d.delivery_id for update;
  with gone as (
    delete from inbox.delivery d using unnest(d_id, d_fence) s(id, fence)
    where d.delivery_id = s.id and d.delivery_id = any (d_id) and d.fence = s.fence and d.owner = p_owner
    returning d),
  recorded as (
    insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts, owner)
    select (g.d).handler_id, (g.d).shard_id, (g.d).pending, 'skipped', (g.d).attempts, p_owner from gone g)
  select coalesce(array_agg(g.d), '{}') into v_gone from gone g;
  perform inbox.advance_lanes(array_agg((g).handler_id), array_agg((g).sequence), array_agg((g).lane))
  from unnest(v_gone) g where (g).lane is not null;
end
$$;
