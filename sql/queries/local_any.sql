-- Whether an enqueued event has a number above $1: cheaper than local_read, because it is asked all the time. No locks.
-- Index: primary key of local_event.
select exists (select from inbox.local_event l where l.local_id > $1::bigint)
