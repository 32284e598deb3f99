-- Whoever routed by the old version reads the handlers again. Locks: the row.
update inbox.routing set version = version + 1
