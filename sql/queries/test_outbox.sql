-- For `inboxd test`: the messages of the outbox, in their order. Reads few rows. No locks.
select topic, key, payload, headers from inbox.outbox order by outbox_id
