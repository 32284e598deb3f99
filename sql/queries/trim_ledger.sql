-- Runs a chunk of trimming the ledger: function inbox.trim_ledger. Locks: the row of ledger_trim and the deleted rows;
-- SKIP LOCKED, so that locked rows wait for the next day's walk. Reads by block, no index.
select gone, has_more, is_bite from inbox.trim_ledger($1::bigint * interval '1 ms', $2::bigint)
