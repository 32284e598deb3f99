-- The topics for dead letters of all handlers, which outbox.topics cannot forbid. No locks; a row for each handler.
select distinct topic from inbox.dead_letter_topic
