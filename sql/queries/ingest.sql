-- Stores a batch: function inbox.ingest. Locks: its new rows; shared advisory lock on routing; ledger rows of ids that
-- came on another topic or with another payload. Indexes: primary keys of position and ledger. Names do not depend on
-- the search path (Connection::Access::call).
select status, moved, born, born_pending, stored, duplicates, conflicts, received_at
from inbox.ingest(
  $1::pg_catalog.uuid, $2::bigint, $3::bigint,
  $4::int[], $5::int[], $6::bigint[], $7::bigint[], $8::int[],
  $9::boolean, $10::boolean, $11::pg_catalog.uuid[], $12::int[], $13::bigint[], $14::bigint[],
  $15::int[], $16::bigint[], $17::pg_catalog.uuid[], $18::pg_catalog.text[], $19::pg_catalog.text[],
  $20::pg_catalog.text[], $21::pg_catalog.text[], $22::pg_catalog.bytea[], $23::pg_catalog.bytea[],
  $24::pg_catalog.bytea[], $25::pg_catalog.timestamptz[], $26::pg_catalog.timestamptz[],
  $27::pg_catalog.timestamptz[],
  $28::int[], $29::int[], $30::pg_catalog.text[], $31::int[], $32::int[],
  $33::int[], $34::bigint[], $35::pg_catalog.timestamptz[],
  $36::int[], $37::bigint[], $38::pg_catalog.text[], $39::pg_catalog.text[], $40::pg_catalog.bytea[],
  $41::pg_catalog.bytea[], $42::bigint[], $43::bigint[], $44::pg_catalog.bytea[], $45::pg_catalog.timestamptz[],
  $46::bigint[], $47::pg_catalog.uuid[])
