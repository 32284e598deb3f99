-- Deletes quarantined records $1; audit keeps their offsets. $2 actor, $3 the request. Locks: the records. Index:
-- primary key of quarantine.
with gone as (
  delete from inbox.quarantine q where q.quarantine_id = any ($1::bigint[]) returning q.shard_id, q."offset"),
places as (
  select s.topic || '/' || s.partition as partition, range_agg(int8range(g."offset", g."offset" + 1)) as offsets,
         count(*) as records
  from gone g join inbox.shard s using (shard_id) group by s.topic, s.partition),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'quarantine discard', $3::text,
         jsonb_build_object('records', sum(p.records), 'offsets', jsonb_object_agg(p.partition, p.offsets::text))
  from places p having count(*) > 0)
select count(*) from gone
