-- Deletes the waiting messages $1 for good, and has the relay try their lanes at once. $2 actor, $3 the request; the
-- audit has their ids. Locks: the messages in order of id, then their lanes in order. Indexes: primary
-- keys.
with held as materialized (
  select w.outbox_id from inbox.outbox_waiting w where w.outbox_id = any ($1::bigint[])
  order by w.outbox_id for update),
gone as (
  delete from inbox.outbox_waiting w where w.outbox_id in (select h.outbox_id from held h)
  returning w.lane, w.message_id, w.topic),
lanes as materialized (
  select l.lane from inbox.outbox_lane l where l.lane in (select g.lane from gone g) order by l.lane for update),
due as (
  update inbox.outbox_lane l set due_at = to_timestamp(0), failed_id = null
  where l.lane in (select x.lane from lanes x)),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'outbox skip', $3::text,
         jsonb_build_object('messages', count(*), 'ids', jsonb_agg(g.topic || ' ' || g.message_id))
  from gone g having count(*) > 0)
select count(*) from gone
