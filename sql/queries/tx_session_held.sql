-- What a handler holds in its session beyond its transaction, asked before COMMIT. No locks.
select inbox.session_held()
