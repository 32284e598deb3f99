-- Stores part $2 of $3 parts of the filter with key $1: digest $4 of the whole filter, bits $5. Another instance may
-- have stored the same. Without the generation nothing is stored. Locks: its new row; the generation's row, shared.
insert into inbox.ledger_filter (filter_key, part, parts, digest, bits)
select g.filter_key, $2::int, $3::int, $4::bigint, $5::bytea from inbox.ledger_generation g
where g.filter_key = $1::bigint
on conflict do nothing
