-- Locks the sequences of dead letters $1, before the dead letters, as inbox.settle does: their lanes change. Locks:
-- these rows. Indexes: primary keys of dead_letter and sequence.
select from inbox.sequence s
where (s.handler_id, s.sequence) in (
  select x.handler_id, x.sequence from inbox.dead_letter x
  where x.dead_letter_id = any ($1::bigint[]) and x.sequence is not null)
order by s.handler_id, s.sequence for no key update
