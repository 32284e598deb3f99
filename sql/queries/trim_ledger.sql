-- A bite of the ledger, that many blocks of it ($2), of what is older than it is kept ($1 in ms); with what is known of
-- those ids beside: an id that comes again is a new event on each of its topics. What handlers subscribed to once
-- decides nothing then, and goes when a walk has ended behind it, with two days for what was locked. Read by place,
-- once a day, by whoever takes the next bite. Who keeps more than the walk is for leaves it to others, or to a later
-- day; a day that is to come was noted by a clock that was wrong, and begins anew. Locks: the row of ledger_trim, and
-- the rows that go; what is locked goes a day later. Returns how many went, and whether there is more to walk.
with kept as (
  select (statement_timestamp() - $1::bigint * interval '1 ms')::date as since,
         statement_timestamp()::date + 1 as latest),
turn as materialized (
  select case when t.next_block is null or t.day > k.latest then k.since else t.day end as day, n.block,
         n.block + $2::bigint as next,
         pg_relation_size('inbox.ledger') / current_setting('block_size')::int as blocks
  from inbox.ledger_trim t cross join kept k
  cross join lateral (select case when t.day > k.latest then 0 else coalesce(t.next_block, 0) end as block) n
  where t.only_row
    and (t.day > k.latest or case when t.next_block is null then t.day < k.since else t.day <= k.since end)
  for update of t skip locked),
old as (
  select l.ctid, l.event_id from inbox.ledger l
  where l.ctid >= (select format('(%s,0)', block)::tid from turn)
    and l.ctid < (select format('(%s,0)', next)::tid from turn)
    and l.received_on < (select day from turn)
  for update skip locked),
also as (
  delete from inbox.also_seen where event_id = any (array(select event_id from old))),
former as (
  delete from inbox.former_subscription f using inbox.ledger_trim t
  where t.only_row and t.next_block is null and to_timestamp(f.until / 1000000.0) < (t.day - 2)::timestamptz),
gone as (
  delete from inbox.ledger l using old where l.ctid = old.ctid returning 1),
walked as (
  update inbox.ledger_trim t set day = turn.day, next_block = case when turn.next < turn.blocks then turn.next end
  from turn where t.only_row returning t.next_block is not null as has_more)
select (select count(*) from gone), coalesce((select has_more from walked), false)
