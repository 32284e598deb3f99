-- Sets lock_timeout for this transaction if it is 0: with a pooler, sessions may start without a timeout. No locks.
select set_config('lock_timeout', $1::text, true) where current_setting('lock_timeout') = '0'
