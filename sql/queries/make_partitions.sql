-- Function inbox.make_partitions. Locks: the partitioned tables, briefly, where a day is missing.
select inbox.make_partitions($1::int)
