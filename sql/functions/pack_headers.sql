-- The reverse of inbox.headers_of: a JSON object of texts as packed headers. A value is a string, number or boolean (as
-- text), null, or {"base64": …}. Reads no table.
create or replace function inbox.pack_headers(headers jsonb) returns bytea language plpgsql immutable strict
parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  if jsonb_typeof(headers) = 'null' then
    return null;
  end if;
  if jsonb_typeof(headers) <> 'object' then
    raise exception 'headers: a JSON %, where an object of names and values is needed', jsonb_typeof(headers)
    using errcode = 'invalid_parameter_value', hint = 'Pass jsonb_build_object(''name'', ''value'').';
  end if;
  if exists (
    select from jsonb_each(headers) h
    where jsonb_typeof(h.value) = 'array' or (jsonb_typeof(h.value) = 'object' and h.value ->> 'base64' is null)) then
    raise exception 'headers: a value is a list or an object'
    using errcode = 'invalid_parameter_value', hint = 'Pass text, null, or {"base64": "…"} for bytes.';
  end if;
  return (
    select string_agg(int4send(length(n)) || n || coalesce(int4send(length(v)) || v, int4send(-1)), '')
    from (
      select convert_to(h.key, 'UTF8') as n,
             case when jsonb_typeof(h.value) = 'object' then decode(h.value ->> 'base64', 'base64')
                  else convert_to(h.value #>> '{}', 'UTF8') end as v
      from jsonb_each(headers) h) t);
end
$$;
