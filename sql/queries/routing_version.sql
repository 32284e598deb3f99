-- Under which version handlers are known now. No locks.
select version from inbox.routing
