-- Deletes the pending deliveries and backfills of handler $1. Called after lock_routing and await_settlements, so that
-- no new rows come. Rows that a concurrent claim splits are visible only to the next call's snapshot. So it returns
-- whether it saw any row, and is called until it sees none. Locks: the rows; waits for their lockers. Indexes: primary
-- key of backfill; delivery_due.
with history as (
  delete from inbox.backfill where handler_id = $1::int),
request as (
  delete from inbox.backfill_request where handler_id = $1::int),
deliveries as (
  delete from inbox.delivery where handler_id = $1::int)
select exists (select from inbox.backfill where handler_id = $1::int)
    or exists (select from inbox.backfill_request where handler_id = $1::int)
    or exists (select from inbox.delivery where handler_id = $1::int)
