-- Function inbox.receive. Locks: its new rows. Indexes: as there. Names do not depend on the search path
-- (Connection::Access::call).
select place, is_conflict
from inbox.receive(
  $1::int[], $2::pg_catalog.text[], $3::pg_catalog.uuid[], $4::bigint[], $5::pg_catalog.text[],
  $6::pg_catalog.text[], $7::pg_catalog.text[], $8::pg_catalog.text[], $9::pg_catalog.bytea[],
  $10::pg_catalog.bytea[], $11::pg_catalog.bytea[], $12::pg_catalog.timestamptz[],
  $13::pg_catalog.timestamptz[], $14::bigint[], $15::bigint[], $16::pg_catalog.uuid[])
