-- Notes who did what. $1: actor, $2: operation, $3: target. One row is inserted; no other locks.
insert into inbox.audit (actor, operation, target) values ($1, $2, $3)
