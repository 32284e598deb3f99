-- Has the relay try the lanes of messages $1 at once, before others. $2 actor, $3 the request. Locks: the lanes, in
-- order. Indexes: primary keys.
with lanes as materialized (
  select l.lane from inbox.outbox_lane l
  where l.lane in (select w.lane from inbox.outbox_waiting w where w.outbox_id = any ($1::bigint[]))
  order by l.lane for update),
due as (
  update inbox.outbox_lane l set due_at = to_timestamp(0) where l.lane in (select x.lane from lanes x)
  returning l.topic),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'outbox retry', $3::text, jsonb_build_object('lanes', count(*)) from due having count(*) > 0)
select count(*) from due
