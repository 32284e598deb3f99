-- Publishes several messages with packed headers, for plugins; returns their ids in order. A null in p_id: a new id.
-- Takes an xid before outbox_id, see table outbox. Locks: its new rows.
create or replace function inbox.publish_batch(p_topic text[], p_key bytea[], p_payload bytea[], p_headers bytea[],
                                               p_id uuid[])
returns setof uuid language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform inbox.require_message(m.topic, coalesce(length(m.key), 0)::bigint + coalesce(length(m.payload), 0)
                                         + coalesce(length(m.headers), 0))
  from unnest(p_topic, p_key, p_payload, p_headers) m(topic, key, payload, headers);
  perform pg_current_xact_id();
  return query
  insert into inbox.outbox (message_id, topic, key, payload, headers)
  select coalesce(m.id, inbox.new_message_id()), m.topic, m.key, m.payload, m.headers
  from unnest(p_topic, p_key, p_payload, p_headers, p_id) with ordinality m(topic, key, payload, headers, id, i)
  order by m.i
  returning outbox.message_id;
end
$$;
