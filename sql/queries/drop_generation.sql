-- Drops a generation of the ledger past its retention: function inbox.drop_generation. Locks: the advisory lock on
-- routing and the ledger, exclusive.
select dropped, coalesce(ids, 0), pinned from inbox.drop_generation($1::bigint * interval '1 ms')
