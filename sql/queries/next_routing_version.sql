-- Whoever routed by the old version reads the handlers again. By the clock, so that a database that was set back does
-- not come to a version that somebody knows with other handlers. Locks: the row.
update inbox.routing set version = greatest(version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
returning version
