-- As inbox.publish, for a key of text and a payload of JSON.
create or replace function inbox.publish(topic text, key text, payload jsonb, headers jsonb default null,
                                         id uuid default null)
returns uuid language sql volatile
return inbox.publish(topic, pg_catalog.convert_to(key, 'UTF8'), pg_catalog.convert_to(payload::pg_catalog.text, 'UTF8'),
                     headers, id);
