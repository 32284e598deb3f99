-- Records an operator's action: $1 actor, $2 operation, $3 target. Inserts one row; no other locks.
insert into inbox.audit (actor, operation, target) values ($1, $2, $3)
