-- What is deferred to COMMIT, constraints and triggers, comes now, as the last of the handler's part. Locks: what the
-- application's triggers take.
set constraints all immediate
