-- Pauses the handlers with dead letters of the last ten minutes, for the reason $1: function inbox.pause_handler.
-- Returns the names of those that were not paused. Locks: the handlers' rows. Index: dead_letter_handler.
with failing as materialized (
  select h.name from inbox.handler h
  where h.retired_at is null and h.paused_reason is null
    and exists (select from inbox.dead_letter x
                where x.handler_id = h.handler_id and x.died_at > clock_timestamp() - interval '10 minutes'))
select f.name from failing f where inbox.pause_handler(f.name, $1::text, 'daemon')
