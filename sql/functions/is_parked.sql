-- Whether a dead letter parks the later events of its key. No locks. Index: dead_letter_parks.
create or replace function inbox.is_parked(p_handler int, p_sequence int, p_lane bigint) returns boolean
language sql stable
return exists (
  select from inbox.dead_letter x
  where x.handler_id = p_handler and x.sequence = p_sequence and x.lane = p_lane and x.parks);
