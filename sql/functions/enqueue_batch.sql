-- Enqueues many events of a local topic, in the order of the arrays; returns their ids in that order. The arrays have
-- one length; null stands for an array of nulls, as in inbox.enqueue. Runs with the owner's rights. It takes an xid
-- before local_id, see table local_event. Locks: its new rows. Index: primary key of local_topic.
create or replace function inbox.enqueue_batch(topic text, event_type text[], payload bytea[],
                                               event_id uuid[] default null, key bytea[] default null,
                                               headers jsonb[] default null, occurred_at timestamptz[] default null,
                                               deliver_at timestamptz[] default null)
returns setof uuid language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_variable
declare
  v_count constant int := coalesce(cardinality(payload), 0);
  v_shard int;
  v_limit int;
  v_ahead interval;
begin
  select t.shard_id, t.payload_limit, t.deliver_at_limit into v_shard, v_limit, v_ahead from inbox.local_topic t
  where t.topic = enqueue_batch.topic;
  if coalesce(cardinality(event_type), v_count) <> v_count or coalesce(cardinality(event_id), v_count) <> v_count
     or coalesce(cardinality(key), v_count) <> v_count or coalesce(cardinality(headers), v_count) <> v_count
     or coalesce(cardinality(occurred_at), v_count) <> v_count
     or coalesce(cardinality(deliver_at), v_count) <> v_count then
    raise exception 'enqueue_batch: the arrays differ in length from payload, which has % entries', v_count
    using errcode = 'array_subscript_error', hint = 'Pass arrays of one length, or null for an array of nulls.';
  end if;
  perform inbox.require_local(topic, v_limit, coalesce(x.type, topic),
                              greatest(length(x.payload), length(x.key), length(inbox.pack_headers(x.headers)), 0),
                              v_ahead, x.due)
  from unnest(event_type, payload, key, headers, deliver_at) x(type, payload, key, headers, due)
  where v_limit is null or greatest(length(x.payload), length(x.key)) > v_limit or x.headers is not null
    or x.due is not null
    or x.type is not null and (length(x.type) not between 1 and 256 or x.type ~ '[[:cntrl:]]');
  perform pg_current_xact_id();
  return query
  insert into inbox.local_event (shard_id, event_id, event_type, key, payload, headers, occurred_at, deliver_at)
  select v_shard, coalesce(x.id, inbox.new_message_id()), coalesce(x.type, topic), x.key, x.payload,
         inbox.pack_headers(x.headers), x.occurred_at, nullif(x.due, '-infinity')
  from unnest(event_type, payload, event_id, key, headers, occurred_at, deliver_at)
       with ordinality x(type, payload, id, key, headers, occurred_at, due, i)
  order by x.i
  returning local_event.event_id;
end
$$;
