-- Outcomes of all kinds: function inbox.settle. Returns the subscripts of settled deliveries. Locks: the deliveries, in
-- order of id.
select unnest(inbox.settle(
  $1::uuid, $2::bigint[], $3::bigint[], $4::text[], $5::text[],
  $6::int[], $7::text[], $8::bigint[], $9::text[], $10::bigint[], $11::bytea[],
  $12::int[], $13::uuid[], $14::int[], $15::text[], $16::text[], $17::bigint[],
  $18::int[], $19::bigint[], $20::uuid[], $21::text[], $22::bigint[], $23::bytea[],
  $24::int[], $25::text[], $26::bigint[], $27::bytea[]))
