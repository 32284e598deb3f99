-- Drops payload and headers of the $1 oldest quarantined records that have some. They stay, and a retry leaves them
-- alone. Locks: the records. Index: primary key of quarantine.
update inbox.quarantine q set payload = null, headers = null, detail = q.detail || '; dropped: no room'
where q.quarantine_id in (
  select o.quarantine_id from inbox.quarantine o
  where o.payload is not null or o.headers is not null order by o.quarantine_id limit $1::int)
