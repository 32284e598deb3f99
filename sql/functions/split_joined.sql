-- Splits the rows of lanes of handler p_handler that inbox.join_lane has joined, by the times at which their events
-- were stored: in the order of the whole handler, events of other partitions belong between them. A part takes the
-- place of the next row or dead letter by that time, or else the last place of all; at a place, the earlier row comes
-- first (inbox.stored_at). Called by change_order after await_settlements, so that no row is leased or settled
-- meanwhile.
--
-- Locks: the rows that it splits; its new rows. Indexes: delivery_lane; (shard_id, offset) of the days of the events.
create or replace function inbox.split_joined(p_handler int) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  with part as materialized (
    select d.delivery_id, e.received_at, range_agg(int8range(e."offset", e."offset" + 1)) as pending,
           row_number() over (partition by d.delivery_id order by e.received_at) as number
    from inbox.delivery d
    join inbox.event e
      on e.shard_id = d.shard_id and e."offset" >= lower(d.pending) and e."offset" < upper(d.pending)
     and e.received_at between d.received_from and d.received_to and d.pending @> e."offset"
    where d.handler_id = p_handler and d.sequence <> 0 and d.lane is not null and d.received_from < d.received_to
    group by d.delivery_id, e.received_at),
  stored as (
    select d.received_from as at, coalesce(d.ordinal, d.delivery_id) as place
    from inbox.delivery d where d.handler_id = p_handler and d.sequence is not null
    union all
    select x.received_at, x.ordinal from inbox.dead_letter x
    where x.handler_id = p_handler and x.lane is not null
    union all
    select p.received_at, null from part p),
  place as (
    select distinct s.at, coalesce(min(s.place) over later, max(s.place) over ()) as place
    from stored s
    window later as (order by s.at desc groups between unbounded preceding and 1 preceding)),
  split as (
    update inbox.delivery d
    set pending = p.pending, events = inbox.count_of(p.pending), received_to = p.received_at
    from part p
    where p.delivery_id = d.delivery_id and p.number = 1
      and exists (select from part q where q.delivery_id = d.delivery_id and q.number = 2)
    returning d.*)
  insert into inbox.delivery (handler_id, shard_id, sequence, ordinal, lane, order_key, pending, events, attempts,
                              claims, due_at, never_expires, received_from, received_to, last_error)
  select s.handler_id, s.shard_id, s.sequence, l.place, s.lane, s.order_key, p.pending, inbox.count_of(p.pending),
         s.attempts, s.claims, 'infinity', s.never_expires, p.received_at, p.received_at, s.last_error
  from split s
  join part p on p.delivery_id = s.delivery_id and p.number > 1
  join place l on l.at = p.received_at;
end
$$;
