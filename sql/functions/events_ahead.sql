-- Events that handler p_handler has to take before it needs more of its `handlers backfill`: the remaining events of
-- deliveries p_ids, its last bites, and events that no instance has claimed yet, of at most 64 deliveries. With
-- p_unclaimed only the events of p_ids that no instance has claimed. 0 for a batch handler: its events wait for the
-- window. No locks. Indexes: primary key of delivery, delivery_due, delivery_order.
create or replace function inbox.events_ahead(p_handler int, p_mode text, p_ids bigint[], p_unclaimed boolean)
returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  if p_mode = 'batch' then
    return 0;
  elsif p_unclaimed then
    return (select coalesce(sum(d.events), 0) from inbox.delivery d
            where d.delivery_id = any (p_ids) and d.owner is null);
  end if;
  return (select coalesce(sum(d.events), 0) from inbox.delivery d where d.delivery_id = any (p_ids))
    + case when p_mode = 'single' then (
        select coalesce(sum(x.events), 0) from (
          select d.events from inbox.delivery d
          where d.handler_id = p_handler and d.due_at <= statement_timestamp() and d.delivery_id <> all (p_ids)
          order by d.due_at limit 64) x)
      else (
        select coalesce(sum(x.events), 0) from (
          select d.events from inbox.delivery d
          where d.handler_id = p_handler and d.sequence is not null and d.lane is null and d.owner is null
            and d.delivery_id <> all (p_ids)
          limit 64) x) end;
end
$$;
