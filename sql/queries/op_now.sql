-- The database's time, in microseconds since 1970. Reads no table. No locks.
select (extract(epoch from clock_timestamp()) * 1000000)::bigint
