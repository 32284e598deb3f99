-- Stores a batch: function inbox.ingest. Locks: its new rows; shared advisory lock on routing; ledger rows of ids that
-- came on another topic or with another payload. Indexes: primary keys of position and ledger. Names do not depend on
-- the search path (Connection::Access::call).
select status, moved, born, born_pending, stored, duplicates, conflicts, received_at, resends
from inbox.ingest(
  $1::pg_catalog.uuid, $2::bigint, $3::bigint,
  $4::int[], $5::int[], $6::bigint[], $7::bigint[], $8::int[],
  $9::boolean, $10::boolean, $11::pg_catalog.uuid[], $12::int[], $13::bigint[], $14::bigint[],
  $15::int[], $16::bigint[], $17::pg_catalog.uuid[], $18::pg_catalog.text[], $19::pg_catalog.text[],
  $20::pg_catalog.text[], $21::pg_catalog.text[], $22::pg_catalog.bytea[], $23::pg_catalog.bytea[],
  $24::pg_catalog.bytea[], $25::pg_catalog.bytea[], $26::pg_catalog.timestamptz[],
  $27::pg_catalog.timestamptz[], $28::pg_catalog.timestamptz[],
  $29::int[], $30::int[], $31::pg_catalog.text[], $32::int[], $33::int[],
  $34::int[], $35::bigint[], $36::pg_catalog.timestamptz[],
  $37::int[], $38::bigint[], $39::pg_catalog.text[], $40::pg_catalog.text[], $41::pg_catalog.bytea[],
  $42::pg_catalog.bytea[], $43::bigint[], $44::bigint[], $45::pg_catalog.bytea[], $46::pg_catalog.timestamptz[],
  $47::bigint[], $48::pg_catalog.uuid[], $49::int[], $50::pg_catalog.uuid[])
