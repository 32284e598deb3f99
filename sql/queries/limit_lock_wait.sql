-- For this transaction only, and only where nothing limits it yet: behind a pooler sessions begin without.
select set_config('lock_timeout', $1::text, true) where current_setting('lock_timeout') = '0'
