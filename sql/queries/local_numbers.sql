-- The lowest and the highest number of enqueued events that wait. No locks. Index: primary key of local_event.
select (select min(local_id) from inbox.local_event), (select max(local_id) from inbox.local_event)
