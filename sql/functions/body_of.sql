-- A payload as jsonb. PostgreSQL refuses some: not JSON, \u0000, lone surrogates, numbers or depths beyond its limits.
-- For those the result is null or, if p_required, an error of SQLSTATE IJ001 that says why and has the original state
-- as DETAIL. Out of memory (class 53) is raised as it is. Reads no table.
create or replace function inbox.body_of(payload bytea, p_required boolean) returns jsonb
language plpgsql immutable strict as $$
begin
  return pg_catalog.convert_from(payload, 'UTF8')::pg_catalog.jsonb;
exception when others then
  if not p_required then
    return null;
  elsif pg_catalog.starts_with(sqlstate, '53') then
    raise;
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
