-- Erases the content of at most $3 quarantined records with key $2, which stay and are not retried, and deletes as many
-- unsent messages with that key: function inbox.forget_messages. $1 actor. Returns how many of each. Locks: as the
-- function; the records, in order of id. Reads all of quarantine and the outbox.
with records as materialized (
  select q.quarantine_id from inbox.quarantine q where q.key = $2::bytea
  order by q.quarantine_id limit $3::int for update),
erased as (
  update inbox.quarantine q
  set key = null, payload = null, headers = null, detail = 'forgotten', forgotten_at = clock_timestamp()
  from records where q.quarantine_id = records.quarantine_id
  returning q.quarantine_id),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $1::text, 'events forget', 'a key',
         jsonb_build_object('records', count(*), 'quarantine_ids', jsonb_agg(quarantine_id))
  from erased having count(*) > 0)
select (select count(*) from erased), inbox.forget_messages($1::text, $2::bytea, $3::int)
