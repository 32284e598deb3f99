-- Raises an error for an event that enqueue refuses: the topic is not declared, its type is no event type, or a part
-- exceeds the topic's payload_limit, or deliver_at its deliver_at_limit. p_limit: null if the topic is not declared;
-- p_size: of its largest part. Reads no table.
create or replace function inbox.require_local(p_topic text, p_limit int, p_type text, p_size bigint,
                                               p_ahead interval, p_deliver_at timestamptz) returns void
language plpgsql volatile parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  if p_limit is null then
    raise exception 'enqueue: no instance of inboxd has declared the local topic "%"', left(coalesce(p_topic, ''), 60)
    using errcode = 'undefined_object',
      hint = 'Add {name: ' || left(coalesce(p_topic, 'NAME'), 60)
             || ', source: local} to topics in its configuration, and start or reload it.';
  end if;
  if length(p_type) not between 1 and 256 or p_type ~ '[[:cntrl:]]' then
    raise exception 'enqueue: "%" is no event type', left(p_type, 60)
    using errcode = 'invalid_parameter_value', hint = 'Use 1 to 256 characters without control characters.';
  end if;
  if p_size > p_limit then
    raise exception 'enqueue: payload, key or headers of an event for % have % bytes, its payload_limit allows %',
      p_topic, p_size, p_limit
    using errcode = 'program_limit_exceeded',
      hint = 'Raise topics[].payload_limit, or enqueue a reference to the content.';
  end if;
  if p_deliver_at > clock_timestamp() + p_ahead then
    raise exception 'enqueue: deliver_at of an event for % is beyond its deliver_at_limit (% from now)',
      p_topic, p_ahead
    using errcode = 'datetime_field_overflow', hint = 'Raise topics[].deliver_at_limit, or enqueue the event later.';
  end if;
end
$$;
