-- Resumes handler $1: function inbox.resume_handler. $2 actor. Locks: the handler's row. Index: primary key of handler.
select inbox.resume_handler($1::text, $2::text)
