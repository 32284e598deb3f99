-- The newest applied migration; the table may not exist yet. No locks.
select case when to_regclass('inbox.migration') is null then 0
            else (xpath('/row/v/text()', query_to_xml('select coalesce(max(version), 0) as v from inbox.migration',
                                                      false, true, '')))[1]::text::int end
