-- A bite of the ledger, that many blocks of it ($2), of what is older than it is kept ($1 in ms); with what is known of
-- those ids beside: an id that comes again is a new event on each of its topics. What handlers subscribed to once
-- decides nothing then, and goes when a walk has ended behind it, with two days for what was locked. Read by place,
-- once a day, by whoever takes the next bite. Who keeps more than the walk is for leaves it to others, or to a later
-- day; one that nobody has gone on with for a day (all keep more by now), and one for a day that is to come (noted by a
-- clock that was wrong), begin anew. Locks: the row of ledger_trim, and the rows that go; what is locked goes a day
-- later. Returns how many went, and whether there is more to walk.
with kept as (
  select (statement_timestamp() - $1::bigint * interval '1 ms')::date as since,
         statement_timestamp()::date + 1 as latest),
turn as materialized (
  select t.day, t.next_block, k.since,
         t.day > k.latest
         or (t.next_block is not null and t.day > k.since
             and t.moved_at < statement_timestamp() - interval '1 day') as is_left
  from inbox.ledger_trim t cross join kept k
  where t.only_row
    and case when t.next_block is null then t.day < k.since or t.day > k.latest
             else t.day <= k.since or t.day > k.latest or t.moved_at < statement_timestamp() - interval '1 day' end
  for update of t skip locked),
bite as materialized (
  select case when t.next_block is null or t.is_left then t.since else t.day end as day, b.block,
         b.block + $2::bigint as next,
         pg_relation_size('inbox.ledger') / current_setting('block_size')::int as blocks
  from turn t cross join lateral (select case when t.is_left then 0 else coalesce(t.next_block, 0) end as block) b),
old as (
  select l.ctid, l.event_id from inbox.ledger l
  where l.ctid >= (select format('(%s,0)', block)::tid from bite)
    and l.ctid < (select format('(%s,0)', next)::tid from bite)
    and l.received_on < (select day from bite)
  for update skip locked),
also as (
  delete from inbox.also_seen where event_id = any (array(select event_id from old))),
former as (
  delete from inbox.former_subscription f using inbox.ledger_trim t
  where t.only_row and t.next_block is null and to_timestamp(f.until / 1000000.0) < (t.day - 2)::timestamptz),
gone as (
  delete from inbox.ledger l using old where l.ctid = old.ctid returning 1),
walked as (
  update inbox.ledger_trim t
  set day = bite.day, next_block = case when bite.next < bite.blocks then bite.next end, moved_at = clock_timestamp()
  from bite where t.only_row returning t.next_block is not null as has_more)
select (select count(*) from gone), coalesce((select has_more from walked), false)
