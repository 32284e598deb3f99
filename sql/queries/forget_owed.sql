-- Deletes what a handler is still owed. Called with routing locked, so that nothing comes meanwhile. Locks: the rows;
-- waits for those that somebody is at. Index: delivery_due.
with history as (
  delete from inbox.backfill where handler_id = $1::int)
delete from inbox.delivery where handler_id = $1::int
