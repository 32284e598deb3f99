-- One batch: function inbox.ingest. Locks: the new rows; shared advisory lock on routing. Indexes: primary keys of
-- position and ledger.
select status, moved, born, born_pending, stored, duplicates, conflicts, received_at
from inbox.ingest(
  $1::uuid, $2::bigint, $3::bigint,
  $4::int[], $5::int[], $6::bigint[], $7::bigint[], $8::int[],
  $9::uuid[], $10::int[], $11::bigint[], $12::bigint[],
  $13::int[], $14::bigint[], $15::uuid[], $16::text[], $17::text[], $18::text[], $19::text[],
  $20::bytea[], $21::bytea[], $22::bytea[], $23::timestamptz[], $24::timestamptz[],
  $25::int[], $26::int[], $27::text[], $28::int[], $29::int[],
  $30::int[], $31::bigint[], $32::text[], $33::text[], $34::bytea[], $35::bytea[],
  $36::bigint[], $37::bigint[], $38::bytea[], $39::timestamptz[])
