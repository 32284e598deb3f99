-- Deletes a chunk of dead letters and quarantined records past their retention (null: kept forever), and instances not
-- seen for 7 days. Locks: the rows.
with dead as (
  delete from inbox.dead_letter where dead_letter_id in (
    select dead_letter_id from inbox.dead_letter
    where died_at < clock_timestamp() - $1::bigint * interval '1 ms' limit $3::int)
  returning 1),
raw as (
  delete from inbox.quarantine where quarantine_id in (
    select quarantine_id from inbox.quarantine
    where received_at < clock_timestamp() - $2::bigint * interval '1 ms' limit $3::int)
  returning 1),
gone as (
  delete from inbox.instance where last_seen_at < clock_timestamp() - interval '7 days' returning 1)
select (select count(*) from dead) + (select count(*) from raw)
