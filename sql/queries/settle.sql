-- Outcomes of all kinds: function inbox.settle. Locks: the deliveries, in order of id.
select unnest(inbox.settle(
  $1::uuid, $2::bigint[], $3::bigint[], $4::text[], $5::text[],
  $6::bigint[], $7::text[], $8::bigint[], $9::text[],
  $10::bigint[], $11::uuid[], $12::int[], $13::text[], $14::text[], $15::bigint[],
  $16::bigint[], $17::bigint[], $18::uuid[]))
