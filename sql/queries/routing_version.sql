-- The version of all handlers. No locks.
select version from inbox.routing
