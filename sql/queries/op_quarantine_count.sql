-- How much is in quarantine, at most $1. No locks. Index: primary key.
select count(*) from (select from inbox.quarantine q limit $1::bigint) q
