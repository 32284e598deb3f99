-- Deletes the waiting messages $1 for good, and has the relay try their lanes at once. $2 actor, $3 the request; the
-- audit has their ids. Locks: the messages, their lanes. Indexes: primary keys.
with gone as (
  delete from inbox.outbox_waiting w where w.outbox_id = any ($1::bigint[]) returning w.lane, w.message_id, w.topic),
due as (
  update inbox.outbox_lane l set due_at = to_timestamp(0), failed_id = null
  where l.lane in (select g.lane from gone g)),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'outbox skip', $3::text,
         jsonb_build_object('messages', count(*), 'ids', jsonb_agg(g.topic || ' ' || g.message_id))
  from gone g having count(*) > 0)
select count(*) from gone
