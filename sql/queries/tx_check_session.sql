-- Session state of a handler that COMMIT would not end: function inbox.check_session, called before COMMIT. No locks.
select inbox.check_session()
