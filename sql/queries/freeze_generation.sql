-- Begins another generation of the ledger if it is due: function inbox.freeze_generation. Locks: the advisory lock on
-- routing, exclusive; the ledger, shared.
select inbox.freeze_generation($1::bigint, $2::bigint * interval '1 ms', $3::bigint)
