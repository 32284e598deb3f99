-- For this transaction only.
select set_config('statement_timeout', $1::text, true)
