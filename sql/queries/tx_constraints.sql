-- Runs deferred constraints and triggers as the last of the handler's part, instead of at COMMIT. Locks: as the
-- application's triggers.
set constraints all immediate
