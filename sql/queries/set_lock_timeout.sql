-- Sets lock_timeout for this transaction. No locks.
select set_config('lock_timeout', $1::text, true)
