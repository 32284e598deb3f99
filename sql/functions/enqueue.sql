-- Enqueues an event of a local topic with the caller's transaction; returns its id. event_type: by default the topic's
-- name. event_id: by default a new id; an id that was enqueued before makes no second event. headers:
-- inbox.pack_headers. A null payload is a tombstone. Runs with the owner's rights, so that the enqueuer's role needs no
-- right on a table. It takes an xid before local_id, see table local_event. Further parameters may come at the end:
-- pass all after the payload by name. Locks: its new row. Index: primary key of local_topic.
create or replace function inbox.enqueue(topic text, event_type text, payload bytea, event_id uuid default null,
                                         key bytea default null, headers jsonb default null,
                                         occurred_at timestamptz default null,
                                         deliver_at timestamptz default null)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_id constant uuid := coalesce(event_id, inbox.new_message_id());
  v_type constant text := coalesce(event_type, topic);
  v_headers constant bytea := inbox.pack_headers(headers);
  v_size constant int := greatest(length(payload), length(key), length(v_headers), 0);
begin
  loop -- a single statement unless the event is refused: a second one costs 5 % of the transaction
    insert into inbox.local_event (shard_id, event_id, event_type, key, payload, headers, occurred_at, deliver_at)
    select t.shard_id, v_id, v_type, key, payload, v_headers, occurred_at, nullif(deliver_at, '-infinity')
    from inbox.local_topic t
    where t.topic = enqueue.topic and v_size <= t.payload_limit and length(v_type) between 1 and 256
      and v_type !~ '[[:cntrl:]]' and (deliver_at is null or deliver_at <= clock_timestamp() + t.deliver_at_limit)
      and pg_current_xact_id() is not null; -- reads no column, so it is evaluated first
    exit when found;
    perform inbox.require_local(x.topic, t.payload_limit, v_type, v_size, t.deliver_at_limit, deliver_at)
    from (select enqueue.topic) x (topic) left join inbox.local_topic t on t.topic = x.topic;
  end loop;
  return v_id;
end
$$;
