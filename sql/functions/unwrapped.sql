-- The body that a payload's JSON means: without the wrapping of converters, as topics[].unwrap says (auto, none,
-- json-string, schema-payload). The rules are as in C++ (envelope/body). Reads no table. It writes the schema of each
-- name instead of setting a search path, which would cost 1.5 µs a call.
create or replace function inbox.unwrapped(body jsonb, p_unwrap text) returns jsonb
language plpgsql immutable strict as $$
declare
  v jsonb := body;
  inner_text text;
begin
  if pg_catalog.jsonb_typeof(v) operator(pg_catalog.=) 'object' then
    if p_unwrap operator(pg_catalog.=) any ('{none,json-string}') or not v operator(pg_catalog.?&) '{schema,payload}'
    then
      return v;
    elsif p_unwrap operator(pg_catalog.<>) 'schema-payload'
      and (v operator(pg_catalog.-) '{schema,payload}'::pg_catalog.text[] operator(pg_catalog.<>) '{}'
           or not (pg_catalog.jsonb_typeof(v operator(pg_catalog.->) 'schema') operator(pg_catalog.=) 'null'
                   or v operator(pg_catalog.->) 'schema' operator(pg_catalog.?) 'type'))
    then
      return v;
    end if;
    v := v operator(pg_catalog.->) 'payload';
  end if;
  if pg_catalog.jsonb_typeof(v) operator(pg_catalog.<>) 'string' or p_unwrap operator(pg_catalog.=) 'none' then
    return v;
  end if;
  inner_text := v operator(pg_catalog.#>>) '{}';
  if p_unwrap operator(pg_catalog.<>) 'json-string' and inner_text operator(pg_catalog.!~) '^[ \t\r\n]*[[{]' then
    return v;
  end if;
  return inner_text::pg_catalog.jsonb;
exception when others then
  return v;
end
$$;
