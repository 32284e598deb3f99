-- Whether a batch handler's delivery is of window w, which may have ended: it was received before the close, and its
-- retry was due by then. A time of receipt in the future comes from a clock that was wrong. Reads no table.
create or replace function inbox.is_in_window(d inbox.delivery, w inbox.batch_window) returns boolean
language sql immutable parallel safe
return coalesce((d).ordinal, (d).delivery_id) <= (w).last_ordinal
       and ((d).received_from < (w).closed_at or (d).received_from > (w).began_at)
       and ((d).due_at = 'infinity' or (d).due_at <= (w).closed_at);
