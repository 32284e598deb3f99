-- One batch: function inbox.ingest. Locks: the new rows; shared advisory lock on routing; ledger rows of ids that came
-- on another topic, or with another payload. Indexes: primary keys of position and ledger.
select status, moved, born, born_pending, stored, duplicates, conflicts, received_at
from inbox.ingest(
  $1::uuid, $2::bigint, $3::bigint,
  $4::int[], $5::int[], $6::bigint[], $7::bigint[], $8::int[],
  $9::boolean, $10::boolean, $11::uuid[], $12::int[], $13::bigint[], $14::bigint[],
  $15::int[], $16::bigint[], $17::uuid[], $18::text[], $19::text[], $20::text[], $21::text[],
  $22::bytea[], $23::bytea[], $24::bytea[], $25::timestamptz[], $26::timestamptz[],
  $27::int[], $28::int[], $29::text[], $30::int[], $31::int[],
  $32::int[], $33::bigint[], $34::text[], $35::text[], $36::bytea[], $37::bytea[],
  $38::bigint[], $39::bigint[], $40::bytea[], $41::timestamptz[])
