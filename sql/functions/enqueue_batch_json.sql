-- As inbox.enqueue_batch, for payloads of JSON and keys of text.
create or replace function inbox.enqueue_batch(topic text, event_type text[], payload jsonb[],
                                               event_id uuid[] default null, key text[] default null,
                                               headers jsonb[] default null, occurred_at timestamptz[] default null,
                                               deliver_at timestamptz[] default null)
returns setof uuid language sql volatile set search_path = pg_catalog, pg_temp as $$
  select inbox.enqueue_batch(
    topic, event_type,
    (select array_agg(convert_to(x.value::text, 'UTF8') order by x.i)
     from unnest(payload) with ordinality x(value, i)),
    event_id,
    (select array_agg(convert_to(x.value, 'UTF8') order by x.i) from unnest(key) with ordinality x(value, i)),
    headers, occurred_at, deliver_at)
$$;
