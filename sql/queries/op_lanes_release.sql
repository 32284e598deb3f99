-- Turns the events that dead letters $1 park into deliveries, about $4 in all: function inbox.replay_dead. The dead
-- letters stay and no longer park their key. $2 actor, $3 the request, $5 the operation. Returns as op_dead_replay.
-- Locks: as the function, after share_routing and op_dead_lock.
with released as materialized (
  select * from inbox.replay_dead($1::bigint[], true, $4::int)),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select $2::text, $5::text, $3::text,
         jsonb_build_object('keys', cardinality($1::bigint[]), 'events', r.letters,
                            'event_ids', (select coalesce(jsonb_agg(distinct e), '[]') from unnest(r.event_ids) e))
  from released r where r.letters > 0 or $5::text = 'lanes release')
select letters, restored, parking from released
