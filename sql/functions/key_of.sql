-- A key as text, or null if it is not UTF-8 text. Plain ASCII is recognised without a subtransaction. Reads no table.
-- The body is parsed when the function is created: the handler's role, which runs it, can name nothing of this schema.
create or replace function inbox.key_of(raw bytea) returns text language sql immutable
return case when strpos(encode(raw, 'escape'), '\') = 0 then encode(raw, 'escape') else inbox.text_or_null(raw) end;
