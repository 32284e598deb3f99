-- A payload as jsonb. As in C++ (event/json_text), a byte order mark is skipped, and so are the five bytes of a schema
-- registry's serializer: 0 and the schema's id. PostgreSQL refuses some payloads: not JSON, \u0000, lone surrogates,
-- numbers or depths beyond its limits. For such payloads the result is null or, if p_required, an error of SQLSTATE
-- IJ001 that says why and has the original state as DETAIL. Out of memory (class 53) is raised as it is. Reads no
-- table.
create or replace function inbox.body_of(payload bytea, p_required boolean) returns jsonb
language plpgsql immutable strict as $$
declare
  json bytea := payload;
begin
  if payload operator(pg_catalog.<) '\x01' and pg_catalog.length(payload) operator(pg_catalog.>) 5 then
    json := pg_catalog.substr(payload, 6);
  end if;
  if json operator(pg_catalog.>=) '\xefbbbf' and json operator(pg_catalog.<) '\xefbbc0' then
    json := pg_catalog.substr(json, 4);
  end if;
  return pg_catalog.convert_from(json, 'UTF8')::pg_catalog.jsonb;
exception when others then
  if not p_required then
    return null;
  elsif pg_catalog.starts_with(sqlstate, '53') then
    raise;
  elsif payload operator(pg_catalog.<) '\x01' and pg_catalog.length(payload) operator(pg_catalog.>) 5 then
    raise exception using errcode = 'IJ001', detail = sqlstate,
      message = 'the payload is not JSON: it begins with the id of a schema registry''s schema ('
        operator(pg_catalog.||) (  -- from left to right: such operators have one precedence
          pg_catalog.get_byte(payload, 1)::bigint operator(pg_catalog.*) 256
          operator(pg_catalog.+) pg_catalog.get_byte(payload, 2) operator(pg_catalog.*) 256
          operator(pg_catalog.+) pg_catalog.get_byte(payload, 3) operator(pg_catalog.*) 256
          operator(pg_catalog.+) pg_catalog.get_byte(payload, 4))::pg_catalog.text
        operator(pg_catalog.||) '); set topics[].value.format, then dead replay';
  end if;
  raise exception using errcode = 'IJ001', detail = sqlstate,
    message = pg_catalog.concat('the payload is not JSON that PostgreSQL takes: ', coalesce('{
      "22P02": "its syntax is wrong, or it holds a lone surrogate",
      "22P05": "a string in it holds the character \\u0000",
      "22021": "it is not UTF-8 text",
      "22003": "a number in it is out of range",
      "54001": "it is nested too deeply",
      "54000": "a string, array or object in it is too large"
    }'::pg_catalog.jsonb operator(pg_catalog.->>) sqlstate, sqlstate));
end
$$;
