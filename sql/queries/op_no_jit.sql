-- For this transaction only, where a pooler kept the session from beginning so: over many day partitions the estimates
-- are high enough for the server to compile questions that are answered in milliseconds, for half a second. No locks.
select set_config('jit', 'off', true)
