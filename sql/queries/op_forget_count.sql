-- Dead letters and quarantined records with key $1. No locks. Reads all of both tables.
select (select count(*) from inbox.dead_letter x where x.key = $1::bytea),
       (select count(*) from inbox.quarantine q where q.key = $1::bytea)
