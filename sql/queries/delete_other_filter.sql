-- Deletes the parts of a filter with key $1 that have another digest than $2: another instance made it of another size,
-- or it is damaged. Locks: these rows. Index: primary key of ledger_filter.
delete from inbox.ledger_filter where filter_key = $1::bigint and digest <> $2::bigint
