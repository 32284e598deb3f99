// Made from the sources by tests/tidy/messages.py.
#include "daemon/error_kinds.hpp"

namespace inboxd::daemon {

// clang-format off
const std::vector<std::string_view>& error_kinds() {
  static const std::vector<std::string_view> kinds{
    "admin: a bug, please report it",
    "consumer: cannot subscribe",
    "consumer: halted",
    "consumer: something unexpected; reading again from the positions",
    "consumer: the database has lost what it had stored (restored or failed over?); reading again",
    "consumer: the database is behind the group's offset (restored or failed over?); reading again from "
    "its position",
    "consumer: the group has read this partition into another database, or this one before it was "
    "restored; what was read then is not stored here, reading goes on behind it",
    "daemon: a loop stands still",
    "daemon: cannot start",
    "daemon: reload refused, the old configuration stays",
    "daemon: somebody else has added the handler anew; what was stored before it was added may not be "
    "owed to it",
    "daemon: the database had forgotten a handler; it is owed again what was stored since it was new",
    "daemon: this partition is halted, its records are not all stored",
    "daemon: this topic does not exist, or may not be seen",
    "dispatcher: a handler got round the daemon's transaction; what its calls wrote may be committed "
    "without being recorded as done, and is then written again",
    "dispatcher: an event was in hand at handlers[].max_crashes unclean ends, it is dead; `inboxd dead "
    "show` with its event_id has it, `inboxd dead replay` gives it back",
    "dispatcher: no thread for a worker, it is tried again",
    "dispatcher: the database failed, trying again",
    "dispatcher: the handler is stopped, too many of its calls never returned",
    "dispatcher: what became of a COMMIT is not known yet",
    "ingest: nobody has put back what the database has forgotten of handlers; what comes now is not owed "
    "by it",
    "ingest: the database refuses the batch as bad data, but not for single records of it; it is tried "
    "again",
    "ingest: the database refuses the batch; nothing is lost, it is tried again",
    "ingest: the same event id came with another payload; the later records are in quarantine",
    "ingest: what is stored could not be taken in hand, it is claimed later",
    "kafka: the client cannot go on; the process has to start again",
    "maintenance: a handler that this process runs is retired and owed nothing; take it out of the "
    "configuration, or reload to add it again",
    "maintenance: somebody else has added the handler anew; this process ends to run that one, and what "
    "was stored before it was added may not be owed to it",
    "maintenance: the database had forgotten a change of a handler",
    "maintenance: the database had forgotten a handler; it is owed again what was stored since it was new",
    "maintenance: the database was set back behind the registration of handlers; they are put back",
    "settler: the database failed, trying again",
    "handler: a line of its own",
    "handler: a line while it was loaded",
  };
  return kinds;
}
// clang-format on

}  // namespace inboxd::daemon
