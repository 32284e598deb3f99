-- A bite of the ledger: function inbox.trim_ledger. Locks: the row of ledger_trim and the rows that go, skipping locked
-- ones, which go a day later. Read by place, no index.
select gone, has_more, is_bite from inbox.trim_ledger($1::bigint * interval '1 ms', $2::bigint)
