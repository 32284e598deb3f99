-- Publishes events that became dead letters of handlers with a topic for them: key, payload and headers as they came,
-- and the headers of Spring Kafka's DeadLetterPublishingRecoverer; numbers are big-endian. As in copies of handler
-- kafka, inboxd-event-id, inboxd-topic and inboxd-payload-sha256 keep the event's identity. Parked events are not dead.
-- p_ids: the deliveries, which the caller has locked; x_: as in inbox.dead_letter, whose rows it reads. Locks: its new
-- rows. Indexes: primary keys; (handler_id, shard_id, offset) of dead_letter.
create or replace function inbox.publish_dead(p_ids bigint[], x_id bigint[], x_offset bigint[], x_state text[])
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into inbox.outbox (message_id, topic, key, payload, headers)
  select inbox.message_id(l.event_id, 'dead letter of ' || h.name), t.topic, l.key, l.payload,
         coalesce(l.headers, '')
         || inbox.pack_header('kafka_dlt-original-topic', convert_to(s.topic, 'UTF8'))
         || inbox.pack_header('kafka_dlt-original-partition', int4send(s.partition))
         || inbox.pack_header('kafka_dlt-original-offset', int8send(l."offset"))
         || inbox.pack_header('kafka_dlt-original-timestamp',
                              int8send(floor(extract(epoch from l.kafka_timestamp) * 1000)::bigint))
         || inbox.pack_header('kafka_dlt-original-timestamp-type',
                              case when l.kafka_timestamp is not null then 'CreateTime'::bytea end)
         || inbox.pack_header('kafka_dlt-original-consumer-group', convert_to(t.consumer_group, 'UTF8'))
         || inbox.pack_header('kafka_dlt-exception-fqcn', convert_to(coalesce(
              l.reasons -> -1 ->> 'error_class', l.state), 'UTF8'))
         || inbox.pack_header('kafka_dlt-exception-message', convert_to(coalesce(
              l.reasons -> -1 ->> 'message', ''), 'UTF8'))
         || inbox.pack_header('inboxd-event-id', convert_to(l.event_id::text, 'UTF8'))
         || inbox.pack_header('inboxd-topic', convert_to(s.topic, 'UTF8'))
         || inbox.pack_header('inboxd-payload-sha256',
                              convert_to(coalesce(encode(sha256(l.payload), 'hex'), 'null'), 'UTF8'))
  from unnest(x_id, x_offset, x_state) x(id, "offset", state)
  join inbox.delivery d on d.delivery_id = x.id
  join inbox.handler h on h.handler_id = d.handler_id
  join inbox.dead_letter_topic t on t.handler_id = d.handler_id
  join inbox.dead_letter l
    on l.handler_id = d.handler_id and l.shard_id = d.shard_id and l."offset" = x."offset"
  join inbox.shard s on s.shard_id = d.shard_id
  where d.delivery_id = any (p_ids) and x.state <> 'parked'
  order by s.topic, s.partition, l."offset";
end
$$;
