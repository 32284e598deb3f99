-- Resumes the handlers that pause_at_limit has paused, and returns their names. Recorded in audit. Locks: the handlers'
-- rows.
with resumed as (
  update inbox.handler h set paused_reason = null, self_paused = false, limit_paused = false
  where h.limit_paused
  returning h.name),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select 'daemon', 'handlers resume', r.name, jsonb_build_object('now', 'resumed') from resumed r)
select name from resumed
