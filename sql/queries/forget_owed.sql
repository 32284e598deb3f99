-- Deletes what a handler $1 is still owed. Called with routing locked, so that nothing new comes; what others are at
-- (a claim that splits a row, a settle that makes one due again) is seen by the next call alone, whose snapshot is
-- behind theirs. So whether this one's saw anything is told, and it is called until one sees nothing. Locks: the rows;
-- waits for those that somebody is at. Indexes: primary key of backfill; delivery_due.
with history as (
  delete from inbox.backfill where handler_id = $1::int),
deliveries as (
  delete from inbox.delivery where handler_id = $1::int)
select exists (select from inbox.backfill where handler_id = $1::int)
    or exists (select from inbox.delivery where handler_id = $1::int)
