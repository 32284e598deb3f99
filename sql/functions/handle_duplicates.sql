-- Handles duplicates whose record differs from the stored event's. Returns the number of conflicts.
-- * Another digest: the record goes to quarantine as a conflict, unless the ids of its local topic alone decide.
-- * Another topic: each handler that subscribes to this topic, and did not subscribe to the earlier topics when the
--   event came from them, gets the event once. If the event's day was dropped, which the ledger may outlive, the event
--   is restored from this record: it has the same key and payload.
--
-- Locks: these ids' rows of ledger, in order of id; shared the advisory lock of op_dead_lock; the days of events (to
-- read), so that inbox.drop_partition waits until the deliveries are visible. Indexes: primary keys of ledger and
-- also_seen; event_place; unique key of local_topic.
create or replace function inbox.handle_duplicates(
  p_routing_version bigint,
  l_id uuid[], l_shard int[], l_offset bigint[], l_digest bigint[],
  e_shard int[], e_offset bigint[], e_source_id text[], e_type text[], e_source text[], e_subject text[],
  e_key bytea[], e_payload bytea[], e_decoded bytea[], e_headers bytea[], e_occurred_at timestamptz[],
  e_kafka_timestamp timestamptz[], e_deliver_at timestamptz[])
returns int
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_conflicts int;
  v_elsewhere boolean;
begin
  -- Two further topics that bring an id at the same moment take turns here and deliver it once.
  select coalesce(bool_or(x.is_elsewhere), false) into v_elsewhere
  from (
    select here.topic <> first.topic as is_elsewhere
    from unnest(l_id, l_shard, l_digest) l(id, shard, digest)
    join inbox.ledger g on g.event_id = l.id
    join inbox.shard here on here.shard_id = l.shard
    join inbox.shard first on first.shard_id = g.shard_id
    where here.topic <> first.topic or g.digest <> l.digest
    order by g.event_id for no key update of g) x;

  with conflict as (
    select l.id, l.shard, l."offset", l.digest
    from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
    join inbox.ledger g on g.event_id = l.id
    where g.digest <> l.digest
      and not exists (
        select from inbox.local_topic t where t.shard_id = l.shard and t.shard_id = g.shard_id and t.id_decides))
  insert into inbox.quarantine (shard_id, "offset", reason, detail, event_id, key, payload, payload_size, digest,
                                headers, kafka_timestamp)
  select c.shard, c."offset", 'conflict', 'this event id was stored before with another key or payload', c.id,
         e.key, e.payload, coalesce(length(e.payload), 0), c.digest, e.headers, e.kafka
  from conflict c
  join unnest(e_shard, e_offset, e_key, e_payload, e_headers, e_kafka_timestamp)
       e(shard, "offset", key, payload, headers, kafka) on e.shard = c.shard and e."offset" = c."offset";
  get diagnostics v_conflicts = row_count;

  if not v_elsewhere then
    return v_conflicts;
  end if;
  -- A replay of the event's dead letter might restore the same event now (op_dead_lock).
  perform pg_advisory_xact_lock_shared(1768841850, 'inbox.dead_letter'::regclass::oid::int);
  with arrived as (
    select distinct on (l.id, here.topic) l.id, here.topic, first.topic as first_topic, g.shard_id, g."offset", e.type,
           l.shard as here_shard, l."offset" as here_offset, g.received_at as first_at,
           g.xmin = pg_current_xact_id()::xid as is_of_this_batch
    from unnest(l_id, l_shard, l_offset, l_digest) l(id, shard, "offset", digest)
    join inbox.ledger g on g.event_id = l.id and g.digest = l.digest
    join inbox.shard here on here.shard_id = l.shard
    join inbox.shard first on first.shard_id = g.shard_id
    join unnest(e_shard, e_offset, e_type) e(shard, "offset", type) on e.shard = l.shard and e."offset" = l."offset"
    where here.topic <> first.topic
    order by l.id, here.topic, l.shard, l."offset"),
  -- The type that the event came with first: from this batch, whose events are inserted later; from its day; from a
  -- later day if it was restored. If the event is gone, it had the type of this record, because an id means a single
  -- event.
  elsewhere as materialized (
    select a.*, s.received_at, coalesce(
             b.type, s.event_type,
             (select r.event_type from inbox.event r
              where r.shard_id = a.shard_id and r."offset" = a."offset" and r.event_id = a.id limit 1),
             a.type) as first_type,
           case when a.is_of_this_batch then p_routing_version
                else (extract(epoch from a.first_at) * 1000000)::bigint end as first_version
    from arrived a
    left join unnest(e_shard, e_offset, e_type) b(shard, "offset", type)
      on a.is_of_this_batch and b.shard = a.shard_id and b."offset" = a."offset"
    left join lateral (
      select e.received_at, e.event_type from inbox.event e
      where not a.is_of_this_batch and e.shard_id = a.shard_id and e."offset" = a."offset" and e.event_id = a.id
        and e.received_at = a.first_at limit 1) s on true),
  noted as (
    insert into inbox.also_seen (event_id, topic, event_type, shard_id, "offset", routing_version)
    select id, topic, type, shard_id, "offset", p_routing_version from elsewhere
    on conflict do nothing returning event_id, topic),
  missing as materialized (
    select distinct on (h.handler_id, x.id) h.handler_id,
           inbox.sequence_of(h.mode, h.order_scope, x.shard_id) as sequence, x.*
    from noted n
    join elsewhere x on x.id = n.event_id and x.topic = n.topic
    join inbox.handler h on h.retired_at is null and inbox.matches(x.topic, h.topics) and inbox.matches(x.type, h.types)
    where not inbox.was_subscribed(h, x.first_version, x.first_topic, x.first_type)
      -- A third topic of this handler may have brought the event already.
      and not exists (
        select from inbox.also_seen s
        where s.event_id = x.id and s.topic <> x.topic
          and inbox.was_subscribed(h, s.routing_version, s.topic, s.event_type))
      and not inbox.was_backfilled(h.handler_id, x.shard_id, x."offset")),
  -- A restored event is on a later day. No received_at: the event is gone.
  stored as materialized (
    select o.id, o.shard_id, o."offset", o.here_shard, o.here_offset, coalesce(
             o.received_at,
             (select max(e.received_at) from inbox.event e
              where e.shard_id = o.shard_id and e."offset" = o."offset" and e.event_id = o.id)) as received_at
    from (select distinct on (id) * from missing where not is_of_this_batch) o),
  moment as materialized (select clock_timestamp() as now),
  restored as (
    insert into inbox.event (shard_id, "offset", event_id, source_id, event_type, source, subject, key, payload,
                             decoded, headers, occurred_at, kafka_timestamp, received_at, deliver_at)
    select s.shard_id, s."offset", s.id, e.source_id, e.type, e.source, e.subject, e.key, e.payload, e.decoded,
           e.headers, e.occurred, e.kafka, m.now, e.deliver_at
    from stored s
    join unnest(e_shard, e_offset, e_source_id, e_type, e_source, e_subject, e_key, e_payload, e_decoded, e_headers,
                e_occurred_at, e_kafka_timestamp, e_deliver_at)
         e(shard, "offset", source_id, type, source, subject, key, payload, decoded, headers, occurred, kafka,
           deliver_at)
      on e.shard = s.here_shard and e."offset" = s.here_offset
    cross join moment m
    where s.received_at is null)
  insert into inbox.delivery (handler_id, shard_id, sequence, pending, events, due_at, received_from, received_to)
  select o.handler_id, o.shard_id, o.sequence, int8multirange(int8range(o."offset", o."offset" + 1)), 1,
         case when o.sequence is null then clock_timestamp() else 'infinity' end, stored_at, stored_at
  from missing o left join stored s using (id) cross join moment m
  cross join lateral (
    select case when s.id is null then o.first_at else coalesce(s.received_at, m.now) end as stored_at) t;
  return v_conflicts;
end
$$;
