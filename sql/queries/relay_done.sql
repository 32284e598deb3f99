-- Deletes the messages $3 and the waiting ones $4, which all replicas have. Returns this transaction's id and the
-- oldest one that runs; no row: the relay's lease was lost. Locks: shared, the relay's row, which keeps the owner; the
-- deleted rows and their lanes, which are no longer stopped. Indexes: primary keys.
with held as materialized (
  select r.fence from inbox.relay r where r.owner = $1::uuid and r.fence = $2::bigint for share),
gone as (delete from inbox.outbox o where o.outbox_id = any ($3::bigint[]) and (select fence from held) = $2::bigint),
gone_waiting as (
  delete from inbox.outbox_waiting w
  where w.outbox_id = any ($4::bigint[]) and (select fence from held) = $2::bigint
  returning w.lane),
passed as (
  update inbox.outbox_lane l set attempts = 0
  where l.lane in (select g.lane from gone_waiting g) and l.attempts > 0)
select pg_current_xact_id()::text::bigint, pg_snapshot_xmin(pg_current_snapshot())::text::bigint from held
