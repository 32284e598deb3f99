-- Sets statement_timeout for this transaction. No locks.
select set_config('statement_timeout', $1::text, true)
