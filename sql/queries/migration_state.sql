-- The newest applied migration; the table may not exist yet. It asks pg_class because to_regclass reads a cache that
-- waiting for the migrations' lock does not renew. No locks.
select case when not exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                             where n.nspname || '.' || c.relname = 'inbox.migration') then 0
            else (xpath('/row/v/text()', query_to_xml('select coalesce(max(version), 0) as v from inbox.migration',
                                                      false, true, '')))[1]::text::int end
