-- The id of a message that a handler publishes for an event: a UUIDv3 of the event's id and a name. A repetition
-- after a failover or a restore has the same id, and another inbox absorbs it. Reads no table.
create or replace function inbox.message_id(event_id uuid, name text) returns uuid language plpgsql immutable strict
parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  v_hash bytea := decode(md5(uuid_send(event_id) || convert_to(name, 'UTF8')), 'hex');
begin
  v_hash := set_byte(v_hash, 6, get_byte(v_hash, 6) & 15 | 48);
  return encode(set_byte(v_hash, 8, get_byte(v_hash, 8) & 63 | 128), 'hex')::uuid;
end
$$;
