-- Returns a packed header; nothing if the value is null. Reads no table.
create or replace function inbox.pack_header(name text, value bytea) returns bytea language sql immutable parallel safe
return coalesce(
  pg_catalog.int4send(pg_catalog.octet_length(name)) || pg_catalog.convert_to(name, 'UTF8')
  || pg_catalog.int4send(pg_catalog.octet_length(value)) || value, ''::pg_catalog.bytea);
