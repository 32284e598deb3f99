-- A new version of routing, so that ingesters read the handlers again. It follows the clock, so that a database that
-- lost commits does not repeat a version that a daemon knows with other handlers. Locks: the row.
update inbox.routing set version = greatest(version + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
returning version
