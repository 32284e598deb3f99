-- Deletes the messages with ids $3 and message_ids $4, and the waiting messages $5 and $6; all replicas have them.
-- After the database lost commits, another message may have the number of a lost message. Returns this transaction's
-- id, the oldest running transaction, and the number of deleted messages $3; no row: the relay's lease was lost. Locks:
-- shared, the relay's row, which keeps the owner; the deleted rows, waiting messages in order of id; then their lanes
-- in order, which are no longer stopped. Indexes: primary keys.
-- `is true` keeps the ids from becoming a join, whose plan would be bad while the table has no statistics.
with held as materialized (
  select r.fence from inbox.relay r where r.owner = $1::uuid and r.fence = $2::bigint for share),
gone as (
  delete from inbox.outbox o
  where o.outbox_id = any ($3::bigint[]) and (o.message_id in (select unnest($4::uuid[]))) is true
    and (select fence from held) = $2::bigint
  returning 1),
gone_waiting as (
  delete from inbox.outbox_waiting w
  where w.outbox_id = any (array(
          select x.outbox_id from inbox.outbox_waiting x where x.outbox_id = any ($5::bigint[])
          order by x.outbox_id for update))
    and (w.message_id in (select unnest($6::uuid[]))) is true
    and (select fence from held) = $2::bigint
  returning w.lane),
lanes as materialized (
  select l.lane from inbox.outbox_lane l
  where l.lane in (select g.lane from gone_waiting g) and l.attempts > 0 order by l.lane for update),
passed as (
  update inbox.outbox_lane l set attempts = 0, failed_id = null where l.lane in (select x.lane from lanes x))
select pg_current_xact_id()::text::bigint, pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       (select count(*) from gone)
from held
