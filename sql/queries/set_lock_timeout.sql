-- For this transaction only.
select set_config('lock_timeout', $1::text, true)
