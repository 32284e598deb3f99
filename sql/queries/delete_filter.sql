-- Deletes the filter with key $1, whatever its parts say: it is made again because a part is missing or damaged. Locks:
-- these rows. Index: primary key of ledger_filter.
delete from inbox.ledger_filter where filter_key = $1::bigint
