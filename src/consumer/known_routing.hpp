#pragma once
#include <chrono>
#include <cstdint>

#include "base/log.hpp"
#include "consumer/set_back.hpp"
#include "inbox/connection.hpp"
#include "inbox/handlers.hpp"
#include "inbox/registrations.hpp"

namespace inboxd::consumer {

/// The handlers that batches are routed by, under the version that the ingest transaction holds them to. Whatever made
/// the database say other handlers than were read has made it another version, so that is where one that was set back
/// shows; and where this process has come to know more since, it is asked again. Used by one ingester, on its thread.
class KnownRouting final {
 public:
  /// `database_deadline`: how long others may be busy with a question to a database that is gone.
  KnownRouting(inbox::Connection& connection, inbox::Registrations& registrations,
               std::chrono::milliseconds database_deadline, base::Logger& log)
      : connection_{connection},
        registrations_{registrations},
        log_{log},
        set_back_{wait_for_others(database_deadline)} {}

  /// Reads them where they are not known. False: the database has forgotten handlers, or a change of them, and nothing
  /// may be stored until it is put back; to be asked again a little later. Throws for a database fault.
  bool know();
  /// They are other ones by now, or may be.
  void forget() { routing_.version = 0; }
  const inbox::Routing& get() const { return routing_; }

 private:
  void tell(SetBack::Verdict verdict);

  inbox::Connection& connection_;
  inbox::Registrations& registrations_;
  base::Logger& log_;
  SetBack set_back_;
  bool is_told_ = false;  ///< that nothing is stored
  inbox::Routing routing_;
  std::uint64_t judged_ = 0;  ///< the revision of registrations
};

}  // namespace inboxd::consumer
