-- Each failed attempt.
create or replace view inbox.failures as
select f.event_id, h.name as handler, f.attempt, f.occurred_at, f.error_class, f.message, f.duration
from inbox.failure f join inbox.handler h using (handler_id);
