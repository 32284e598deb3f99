-- Why handlers are paused, for callers who may see content of events: a reason may quote an error. No locks.
select h.handler_id, h.paused_reason from inbox.handler h where h.paused_reason is not null
