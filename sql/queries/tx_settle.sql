-- settle inside a handler's transaction; raises an error if a lease was lost. Locks: the deliveries, in order of id.
select inbox.require_all_settled(cardinality(inbox.settle(
  $1::uuid, $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[],
  $7::int[], $8::text[], $9::bigint[], $10::text[], $11::bigint[], $12::bytea[],
  $13::int[], $14::uuid[], $15::int[], $16::text[], $17::text[], $18::bigint[],
  $19::int[], $20::bigint[], $21::uuid[], $22::text[], $23::bigint[], $24::bytea[],
  $25::int[], $26::text[], $27::bigint[], $28::bytea[])), cardinality($2::bigint[]))
