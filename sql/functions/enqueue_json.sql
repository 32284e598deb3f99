-- As inbox.enqueue, for a payload of JSON and a key of text.
create or replace function inbox.enqueue(topic text, event_type text, payload jsonb, event_id uuid default null,
                                         key text default null, headers jsonb default null,
                                         occurred_at timestamptz default null,
                                         deliver_at timestamptz default null)
returns uuid language sql volatile
return inbox.enqueue(topic, event_type, pg_catalog.convert_to(payload::pg_catalog.text, 'UTF8'), event_id,
                     pg_catalog.convert_to(key, 'UTF8'), headers, occurred_at,
                     deliver_at);
