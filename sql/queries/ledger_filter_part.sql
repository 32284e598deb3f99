-- Part $2 of the filter with key $1. No locks. Index: primary key of ledger_filter.
select digest, bits from inbox.ledger_filter where filter_key = $1::bigint and part = $2::int
