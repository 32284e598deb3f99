-- Records an applied migration. Called after lock_migrations. Locks: none but its new row.
insert into inbox.migration (version, name, digest) values ($1::int, $2::text, md5($3::text))
