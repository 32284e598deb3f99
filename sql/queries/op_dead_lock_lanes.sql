-- Locks the sequences of dead letters $1, before the dead letters, as inbox.settle does: their lanes change. Locks: as
-- inbox.lock_lanes. Indexes: primary keys of dead_letter and sequence.
select inbox.lock_lanes(array_agg(x.handler_id), array_agg(x.sequence), true)
from inbox.dead_letter x where x.dead_letter_id = any ($1::bigint[]) and x.sequence is not null
