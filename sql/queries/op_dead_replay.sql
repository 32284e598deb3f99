-- Turns dead letters $1 into deliveries, with the events that they park, about $4 in all: function inbox.replay_dead.
-- $2 actor, $3 the request, $5 the operation. Returns how many, how many events were restored, and the dead letters
-- that still park a key because more of its events are left. Locks: as the function, after share_routing and
-- op_dead_lock.
with replayed as materialized (
  select * from inbox.replay_dead($1::bigint[], false, $4::int)),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, $5::text, $3::text,
         jsonb_build_object('events', r.letters, 'event_ids', (select jsonb_agg(distinct e) from unnest(r.event_ids) e))
  from replayed r where r.letters > 0)
select letters, restored, parking from replayed
