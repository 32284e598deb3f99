-- Pauses the handlers with dead letters of the last ten minutes, for the reason $1, which names each as HANDLER, until
-- resume_below_limit. Returns the names of the handlers that were not paused before. Recorded in audit. Locks: the
-- handlers' rows. Index: dead_letter_handler.
with paused as (
  update inbox.handler h
  set paused_reason = replace($1::text, 'HANDLER', h.name), self_paused = true, limit_paused = true
  where h.retired_at is null and h.paused_reason is null
    and exists (select from inbox.dead_letter x
                where x.handler_id = h.handler_id and x.died_at > clock_timestamp() - interval '10 minutes')
  returning h.name, h.paused_reason),
noted as (
  insert into inbox.audit (actor, operation, target, detail)
  select 'daemon', 'handlers pause', p.name, jsonb_build_object('reason', p.paused_reason) from paused p)
select name from paused
