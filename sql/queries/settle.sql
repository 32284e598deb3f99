-- Outcomes of all kinds: function inbox.settle. Returns the subscripts of settled deliveries. Locks: the deliveries, in
-- order of id.
select unnest(inbox.settle(
  $1::uuid, $2::bigint[], $3::bigint[], $4::text[], $5::text[],
  $6::int[], $7::text[], $8::bigint[], $9::text[],
  $10::int[], $11::uuid[], $12::int[], $13::text[], $14::text[], $15::bigint[],
  $16::int[], $17::bigint[], $18::uuid[]))
