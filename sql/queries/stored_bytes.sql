-- Bytes of dead letters and of quarantined records, as stored: the bytes of values and a row's own. Files that are
-- smaller than $1 and $2 are not looked into: deleted rows leave room in them, so their size is an upper limit. No
-- locks. May read all of both tables.
select case when pg_table_size('inbox.dead_letter') < $1::bigint then pg_table_size('inbox.dead_letter')
            else (select coalesce(sum(300 + coalesce(pg_column_size(x.payload), 0)
                                      + coalesce(pg_column_size(x.decoded), 0)
                                      + coalesce(pg_column_size(x.headers), 0)), 0) from inbox.dead_letter x) end,
       case when pg_table_size('inbox.quarantine') < $2::bigint then pg_table_size('inbox.quarantine')
            else (select coalesce(sum(200 + coalesce(pg_column_size(q.payload), 0)
                                      + coalesce(pg_column_size(q.headers), 0)), 0) from inbox.quarantine q) end
