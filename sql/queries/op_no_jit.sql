-- Turns jit off for this transaction: a pooler may have refused the session's setting. Over many day partitions the
-- estimates make the server compile a query of milliseconds for half a second. No locks.
select set_config('jit', 'off', true)
