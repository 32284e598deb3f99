-- Notes an applied migration. Called with migrations locked.
insert into inbox.migration (version, name, digest) values ($1::int, $2::text, md5($3::text))
