-- Deletes dead letters $1 with their edits; outcome rows stay. Dead letters that park a key stay, too, unless $4: their
-- parked events are released first (op_lanes_release). $2 actor, $3 the request. Locks: the dead letters and edits.
-- Indexes: primary key of dead_letter; unique key of edit.
with gone as (
  delete from inbox.dead_letter x
  where x.dead_letter_id = any ($1::bigint[]) and ($4::boolean or not x.parks)
  returning x.handler_id, x.shard_id, x."offset", x.event_id, x.attempts),
unedited as (
  delete from inbox.edit x using gone g
  where x.handler_id = g.handler_id and x.shard_id = g.shard_id and x."offset" = g."offset"),
recorded as (
  insert into inbox.outcome (handler_id, shard_id, offsets, outcome, attempts)
  select g.handler_id, g.shard_id, range_agg(int8range(g."offset", g."offset" + 1)), 'discarded', g.attempts
  from gone g
  group by g.handler_id, g.shard_id, g."offset" / 1000, g.attempts),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, 'dead discard', $3::text,
         jsonb_build_object('events', count(*), 'event_ids', jsonb_agg(distinct event_id))
  from gone having count(*) > 0)
select count(*) from gone
