-- A bite of the ledger, that many blocks of it ($2), of what is older than it is kept ($1 in ms); with what is known of
-- those ids beside: an id that comes again is a new event on each of its topics, and what handlers subscribed to before
-- that decides nothing. Read by place, once a day, by whoever takes the next bite. A walk goes on for the day it was
-- begun for, but deletes nothing that is kept longer by now. Locks: the row of ledger_trim, and the rows that go; what
-- is locked goes a day later. Returns how many went, and whether there is more to walk.
with kept as (
  select (statement_timestamp() - $1::bigint * interval '1 ms')::date as since),
turn as materialized (
  select case when t.next_block is null then k.since else t.day end as day, k.since,
         coalesce(t.next_block, 0) as block, coalesce(t.next_block, 0) + $2::bigint as next,
         pg_relation_size('inbox.ledger') / current_setting('block_size')::int as blocks
  from inbox.ledger_trim t cross join kept k
  where t.only_row and (t.next_block is not null or t.day < k.since)
  for update of t skip locked),
old as (
  select l.ctid, l.event_id from inbox.ledger l
  where l.ctid >= (select format('(%s,0)', block)::tid from turn)
    and l.ctid < (select format('(%s,0)', next)::tid from turn)
    and l.received_on < (select least(day, since) from turn)
  for update skip locked),
also as (
  delete from inbox.also_seen a using old where a.event_id = old.event_id),
former as (
  delete from inbox.former_subscription
  where until < (extract(epoch from statement_timestamp()) * 1000000)::bigint - $1::bigint * 1000 - 86400000000),
gone as (
  delete from inbox.ledger l using old where l.ctid = old.ctid returning 1),
walked as (
  update inbox.ledger_trim t set day = turn.day, next_block = case when turn.next < turn.blocks then turn.next end
  from turn where t.only_row returning t.next_block is not null as has_more)
select (select count(*) from gone), coalesce((select has_more from walked), false)
