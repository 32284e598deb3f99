-- Of each handler, also retired ones, the version under which it came to say what it says. No locks.
select handler_id, changed_under from inbox.handler
