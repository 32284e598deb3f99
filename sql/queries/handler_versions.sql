-- The version of the last change of each handler, retired ones included. No locks.
select handler_id, changed_under from inbox.handler
