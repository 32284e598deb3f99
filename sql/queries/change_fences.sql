-- Gives the sequences of process $1 another fence, as a replay does, and their leased deliveries, too: the server was
-- started or replaced, and may have lost commits that the process remembers. With the former fences it leases nothing
-- more, and records no outcome of an event while earlier events of its key are pending again. It drains the sequences
-- and takes them again, which ends the leases of deliveries that it has settled and forgotten. Until then it stays
-- their owner: another process would run events beside its running calls. No process has crashed, so that the claims
-- which end do not count. A delivery that another statement has locked keeps its fence for now: passed_over says how
-- many, and the caller tries again. Locks: the sequences, in order, then their leased deliveries, SKIP LOCKED, as
-- settlements of the same process take theirs in any order. Indexes: delivery_order and delivery_lane.
with owned as materialized (
  select s.handler_id, s.sequence from inbox.sequence s
  where s.owner = $1::uuid order by s.handler_id, s.sequence for no key update of s),
fenced as (
  update inbox.sequence s set fence = hashtextextended(gen_random_uuid()::text, 0)
  from owned o where s.handler_id = o.handler_id and s.sequence = o.sequence
  returning 1),
mine as materialized (
  select x.delivery_id from owned o
  cross join lateral (
    select e.delivery_id from inbox.delivery e
    where e.handler_id = o.handler_id and e.sequence = o.sequence and e.lane is null and e.owner = $1::uuid
    union all
    select e.delivery_id from inbox.delivery e
    where e.handler_id = o.handler_id and e.sequence = o.sequence and e.lane is not null and e.owner = $1::uuid) x),
leased as materialized (
  select d.delivery_id from inbox.delivery d
  where d.delivery_id = any (array(select m.delivery_id from mine m)) and d.owner = $1::uuid
  for update of d skip locked),
refenced as (
  update inbox.delivery d set fence = hashtextextended(gen_random_uuid()::text, 0), claims = greatest(d.claims - 1, 0)
  from leased l where d.delivery_id = l.delivery_id)
select (select count(*) from fenced) as sequences,
       (select count(*) from mine) - (select count(*) from leased) as passed_over
