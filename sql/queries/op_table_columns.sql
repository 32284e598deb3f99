-- The columns of a table that an INSERT may name ($1: its name, quoted), in their order; whether each is part of the
-- primary key. No rows: there is no such table. Runs under the login's search path, to find the table as handlers do;
-- so it names all schemas. No locks.
select a.attname::text, pg_catalog.format_type(a.atttypid, null),
       exists (select from pg_catalog.pg_index i
               where i.indrelid = a.attrelid and i.indisprimary and a.attnum = any (i.indkey::pg_catalog.int2[]))
from pg_catalog.pg_attribute a
where a.attrelid = pg_catalog.to_regclass($1) and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  and a.attidentity <> 'a'
order by a.attnum
