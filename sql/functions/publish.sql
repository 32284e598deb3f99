-- Publishes a message to a Kafka topic with the caller's transaction; returns its id. headers: inbox.pack_headers. A
-- null payload is a tombstone. id: by default a new id; inbox.message_id makes an id that a repetition has, too. Runs
-- with the owner's rights, so that the publisher's role needs no right on a table. It
-- takes an xid before outbox_id, see table outbox. Locks: its new row.
create or replace function inbox.publish(topic text, key bytea, payload bytea, headers jsonb default null,
                                         id uuid default null)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_id constant uuid := coalesce(id, inbox.new_message_id());
  v_headers constant bytea := inbox.pack_headers(headers);
  v_size constant bigint := coalesce(length(key), 0) + coalesce(length(payload), 0) + coalesce(length(v_headers), 0);
begin
  if v_size > 65536 or coalesce(length(topic), 0) not between 3 and 249 or topic ~ '[^a-zA-Z0-9._-]' then
    perform inbox.require_message(topic, v_size);
  end if;
  perform pg_current_xact_id();
  insert into inbox.outbox (message_id, topic, key, payload, headers) values (v_id, topic, key, payload, v_headers);
  return v_id;
end
$$;
