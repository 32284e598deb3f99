-- Dead letters, quarantined records and unsent messages with key $1. No locks. Reads all of the tables.
select (select count(*) from inbox.dead_letter x where x.key = $1::bytea),
       (select count(*) from inbox.quarantine q where q.key = $1::bytea),
       (select count(*) from inbox.outbox o where o.key = $1::bytea)
         + (select count(*) from inbox.outbox_waiting w where w.key = $1::bytea)
