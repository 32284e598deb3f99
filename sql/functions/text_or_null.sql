-- Bytes as text, or null if they are not UTF-8 text. Reads no table. It writes `pg_catalog.` instead of setting a
-- search path, which would cost 1.5 µs a call.
create or replace function inbox.text_or_null(raw bytea) returns text language plpgsql immutable strict as $$
begin
  return pg_catalog.convert_from(raw, 'UTF8');
exception when others then
  return null;
end
$$;
