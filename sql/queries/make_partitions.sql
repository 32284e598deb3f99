-- Function inbox.make_partitions. Locks: if a day is missing, the partitioned tables, briefly.
select inbox.make_partitions($1::int)
