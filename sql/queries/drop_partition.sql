-- Function inbox.drop_partition. Locks: the partitioned table and the day (ACCESS EXCLUSIVE), limited by lock_timeout
-- and statement_timeout.
select inbox.drop_partition($1::text, $2::bigint * interval '1 ms', $3::text)
