-- Runs a batch of a retry: function inbox.retry_quarantined. Locks: shared advisory lock on routing; the quarantined
-- records, in order of id; shared the rows of backfill of their shards; then as ingest without positions. Indexes:
-- primary keys of quarantine, ledger and backfill.
select status, stored, duplicates, conflicts
from inbox.retry_quarantined(
  $1::text, $2::text, $3::bigint[],
  $4::boolean, $5::uuid[], $6::int[], $7::bigint[], $8::bigint[],
  $9::int[], $10::bigint[], $11::uuid[], $12::text[], $13::text[], $14::text[], $15::text[],
  $16::bytea[], $17::bytea[], $18::bytea[], $19::bytea[], $20::timestamptz[], $21::timestamptz[],
  $22::timestamptz[], $23::bigint[], $24::text[], $25::text[])
