-- Raises an error unless the relay can send such a message. p_size: key, payload and headers. Only sizes above 64 KiB
-- look up the configured limit, which is no smaller. Reads relay. No locks.
create or replace function inbox.require_message(p_topic text, p_size bigint) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  v_limit int;
begin
  if p_topic is null or p_topic = '' then
    raise exception 'publish: the topic is empty; name the Kafka topic' using errcode = 'invalid_parameter_value';
  end if;
  if length(p_topic) > 249 or p_topic ~ '[^a-zA-Z0-9._-]' or p_topic in ('.', '..') then
    raise exception 'publish: "%" is no topic name', left(p_topic, 60) using errcode = 'invalid_parameter_value',
      hint = 'Use 1 to 249 letters, digits, dots, underscores and hyphens.';
  end if;
  if p_size > 65536 then
    select r.message_bytes into v_limit from inbox.relay r;
    if p_size > v_limit then
      raise exception 'publish: the message for % has % bytes, outbox.message_bytes allows %', p_topic, p_size, v_limit
      using errcode = 'program_limit_exceeded',
        hint = 'Raise outbox.message_bytes and the topic''s max.message.bytes, or publish a reference to the content.';
    end if;
  end if;
end
$$;
