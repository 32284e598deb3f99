-- Deletes counts of events that a handler subscribes to by now, and counts that did not grow for $1 ms (null: kept).
-- Locks: the rows, SKIP LOCKED.
delete from inbox.unsubscribed where (topic, event_type) in (
  select u.topic, u.event_type from inbox.unsubscribed u
  where u.last_at < clock_timestamp() - $1::bigint * interval '1 ms'
     or exists (select from inbox.handler h
                where h.retired_at is null and inbox.matches(u.topic, h.topics)
                  and inbox.matches(u.event_type, h.types))
  for update skip locked)
