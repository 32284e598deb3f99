-- Packed headers as a JSON object. The last header of a name wins. A value is a string, null, or {"base64": …} if it is
-- not UTF-8 text or contains NUL. Of more than 10,000 headers the last 10,000 count, and the header inboxd-headers-cut
-- says how many were left out. Reads no table.
--
-- The object is built once, at the end, because adding header by header takes quadratic time. Bytes are checked before
-- they are converted: catching the error needs a subtransaction, which no parallel plan allows. Nearly all values are
-- ASCII and pass the first check. The body names nothing of this schema, so that roles without a right on it can run
-- it.
create or replace function inbox.headers_of(packed bytea) returns jsonb language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp as $$
declare
  most constant int := 10000;
  bytes constant bytea := packed || ''::bytea;  -- decompressed once
  names text[] := '{}';
  texts text[] := '{}';
  raws bytea[] := '{}';  -- null for text
  has_raw boolean := false;
  is_name boolean := true;  -- names and values alternate
  at int := 0;
  size int;
  raw bytea;
  name text;
  value text;
  cut int := 0;  -- headers to leave out
begin
  if length(bytes) > 8 * most then  -- fewer bytes hold no more headers
    cut := -2 * most;
    while at + 4 <= length(bytes) loop
      size := (get_byte(bytes, at) << 24) | (get_byte(bytes, at + 1) << 16) | (get_byte(bytes, at + 2) << 8)
              | get_byte(bytes, at + 3);
      exit when size > length(bytes) - at - 4 or size < -1;
      at := at + 4 + greatest(size, 0);
      cut := cut + 1;
    end loop;
    at := 0;
    cut := greatest(cut, 0) / 2;
    if cut > 0 then
      names := array['inboxd-headers-cut'];
      texts := array[cut::text];
      raws := array[null::bytea];
    end if;
  end if;
  while at + 4 <= length(bytes) loop
    size := (get_byte(bytes, at) << 24) | (get_byte(bytes, at + 1) << 16) | (get_byte(bytes, at + 2) << 8)
            | get_byte(bytes, at + 3);
    exit when size > length(bytes) - at - 4 or size < -1
      or (is_name and (size < 0 or size > length(bytes) - at - 8));
    raw := case when size >= 0 then substr(bytes, at + 5, size) end;
    at := at + 4 + greatest(size, 0);
    if cut > 0 then
      cut := cut - case when is_name then 0 else 1 end;
      is_name := not is_name;
      continue;
    end if;
    value := case
      when strpos(encode(raw, 'escape'), '\') = 0 then encode(raw, 'escape')
      when encode(raw, 'hex') ~ ('^(?:0[1-9a-f]|[1-7][0-9a-f]|(?:c[2-9a-f]|d[0-9a-f])[89ab][0-9a-f]'
                                 '|(?:e0[ab]|e[1-9abcef][89ab]|ed[89])[0-9a-f][89ab][0-9a-f]'
                                 '|(?:f0[9ab]|f[1-3][89ab]|f48)[0-9a-f][89ab][0-9a-f][89ab][0-9a-f])*$')
      then convert_from(raw, 'UTF8') end;
    if is_name then
      name := coalesce(value, 'base64:' || translate(encode(raw, 'base64'), E'\n', ''));
    else
      if value is not null then
        raw := null;
      elsif raw is not null then
        has_raw := true;
      end if;
      names := names || name;
      texts := texts || value;
      raws := raws || raw;
    end if;
    is_name := not is_name;
  end loop;
  if not has_raw then
    return jsonb_object(names, texts);
  end if;
  return (
    select jsonb_object_agg(
             x.name, case when x.raw is null then to_jsonb(x.value)
                          else jsonb_build_object('base64', translate(encode(x.raw, 'base64'), E'\n', '')) end
             order by x.i)
    from unnest(names, texts, raws) with ordinality x(name, value, raw, i));
end
$$;
