-- Runs deferred constraints and triggers as the last of the handler's part, instead of at COMMIT. Locks: those of the
-- application's triggers.
set constraints all immediate
