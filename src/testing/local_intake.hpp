#pragma once
#include <functional>
#include <string>

#include "base/result.hpp"
#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "testing/intake.hpp"
#include "testing/test_file.hpp"
#include "webhook/endpoint.hpp"

namespace inboxd::testing {

/// Sample events of local topics: stages them by inbox.enqueue, or by the webhook port's own code if the topic has
/// `http`, and waits until the daemon's local reader has stored them. A single thread.
class LocalIntake final {
 public:
  LocalIntake(const config::Settings& settings, inbox::Connection& connection)
      : max_events_{static_cast<std::size_t>(settings.ingest.http.batch_events)},
        endpoints_{webhook::endpoints_of(settings)},
        connection_{connection} {}

  /// A problem if the reader has not stored the event before `is_over`, or a request has several events. Throws
  /// DatabaseError.
  base::Result<Intake::Taken> store(const SampleRecord& sample, const std::function<bool()>& is_over);

 private:
  /// Nothing is staged for a duplicate and a refused event.
  struct Staged {
    bool is_duplicate = false;
    std::string refused = {};
  };
  Staged enqueue(const SampleRecord& sample);
  base::Result<Staged> post(const SampleRecord& sample, const webhook::Endpoint& endpoint);
  std::int64_t position(const std::string& topic);

  const std::size_t max_events_;
  const webhook::Endpoints endpoints_;
  inbox::Connection& connection_;
};

}  // namespace inboxd::testing
