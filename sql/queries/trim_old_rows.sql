-- Deletes a chunk of dead letters and quarantined records past their retention (null: kept forever), edits whose event
-- and dead letter are gone, instances not seen for 7 days, and readings a day old. Locks: the rows; dead letters and
-- records SKIP LOCKED. Indexes: unique key of dead_letter; event_place of all days, for each edit.
with dead as (
  delete from inbox.dead_letter where dead_letter_id in (
    select dead_letter_id from inbox.dead_letter
    where died_at < clock_timestamp() - $1::bigint * interval '1 ms' limit $3::int for update skip locked)
  returning died_at),
noted as (  -- for inboxd verify
  update inbox.ledger_trim t set dead_letters_before = d.newest
  from (select max(died_at) as newest from dead) d
  where t.dead_letters_before is null and d.newest is not null or t.dead_letters_before < d.newest),
edits as (
  delete from inbox.edit where edit_id in (
    select x.edit_id from inbox.edit x
    where x.received_at < clock_timestamp() - interval '1 day'
      and not exists (
        select from inbox.dead_letter l
        where l.handler_id = x.handler_id and l.shard_id = x.shard_id and l."offset" = x."offset")
      and not exists (
        select from inbox.event e
        where e.shard_id = x.shard_id and e."offset" = x."offset" and e.event_id = x.event_id)
    limit $3::int)
  returning 1),
raw as (
  delete from inbox.quarantine where quarantine_id in (
    select quarantine_id from inbox.quarantine
    where received_at < clock_timestamp() - $2::bigint * interval '1 ms' limit $3::int for update skip locked)
  returning 1),
gone as (
  delete from inbox.instance where last_seen_at < clock_timestamp() - interval '7 days' returning 1),
unseen as (
  delete from inbox.reading where seen_at < clock_timestamp() - interval '1 day' returning 1)
select (select count(*) from dead) + (select count(*) from raw) + (select count(*) from edits)
