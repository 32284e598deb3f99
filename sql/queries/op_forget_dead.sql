-- Erases the content of at most $3 dead letters with key $2, and the text of their order key. They stay, and a replay
-- records them as skipped. Events that are pending in lanes of the key lose that text, too. $1 actor. Returns how many
-- dead letters. Locks: the dead letters and the deliveries, in order of id, after share_routing and op_dead_lock. Reads
-- all dead letters and pending deliveries.
with letters as materialized (
  select x.dead_letter_id from inbox.dead_letter x where x.key = $2::bytea
  order by x.dead_letter_id limit $3::int for update),
erased as (
  update inbox.dead_letter x
  set key = null, payload = null, decoded = null, headers = null, subject = null, order_key = null, notes = null,
      source_id = case  -- it may be the key's text, also of a key that was decoded
        when x.decoded is null and substr(x.key, 1, 1) is distinct from '\x00'
          and convert_to(x.source_id, 'UTF8') is distinct from x.key then x.source_id end,
      forgotten_at = clock_timestamp(),
      reasons = coalesce((
        select jsonb_agg(r || '{"message": "forgotten"}') from jsonb_array_elements(x.reasons) r), '[]')
  from letters where x.dead_letter_id = letters.dead_letter_id
  returning x.event_id, x.handler_id, x.shard_id, x."offset"),
unedited as (
  delete from inbox.edit x using erased g
  where x.handler_id = g.handler_id and x.shard_id = g.shard_id and x."offset" = g."offset"),
silenced as (
  update inbox.failure f set message = 'forgotten' from erased g where f.event_id = g.event_id),
lanes as materialized (
  select d.delivery_id from inbox.delivery d where d.lane is not null and d.order_key = substr($2::bytea, 1, 256)
  order by d.delivery_id for update),
unnamed as (
  update inbox.delivery d set order_key = null, last_error = null from lanes where d.delivery_id = lanes.delivery_id),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $1::text, 'events forget', 'a key',
         jsonb_build_object('dead_letters', count(*), 'event_ids', jsonb_agg(distinct event_id))
  from erased having count(*) > 0)
select count(*) from erased
