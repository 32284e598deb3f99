#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"

namespace inboxd::support {

/// Events with order keys, as they were produced, and whether a handler was called in their order.
class KeyedEvents final {
 public:
  explicit KeyedEvents(DaemonFixture& fixture) : fixture_{fixture} {}

  /// An event: its key, and its type (`Fails2` fails twice in the recorder).
  struct Made {
    std::string key;
    std::string type = "Happened";
    std::string payload = "{}";
    std::string record_key = {};        ///< if the order key is in the header `customer` instead
    std::optional<int> partition = {};  ///< then the record has no key, and `key` only names its order here
  };
  /// Produces `count` events; `make` gets the number of each.
  void produce(int count, const std::function<Made(int)>& make);
  const std::vector<std::string>& ids() const { return ids_; }
  std::string key_of(const std::string& id) const { return places_.at(id).key; }

  /// Places where calls of a key left their order: an event after a later event, or before the outcome of the event
  /// before was recorded. A repeated call of the same event is in order. Empty: all is in order. Of handlers with
  /// `on_failure: skip` only first attempts count.
  std::string out_of_order(const std::string& handler = "recorder", bool only_first_attempts = false) const;
  /// A process was suspended. A worker that has compared the lease with the clock may call its handler as it wakes up,
  /// after another process has run the event meanwhile: in order, because handlers' effects outside of the database are
  /// repeated at least once, and nothing of the late call is recorded.
  void note_suspended(int process_id, std::int64_t from_ms, std::int64_t to_ms);
  /// The numbers of a key's events in the order of their calls.
  std::vector<int> calls_of(const std::string& key, const std::string& handler = "recorder") const;
  int events_of(const std::string& key) const { return per_key_.contains(key) ? per_key_.at(key) : 0; }

 private:
  struct Place {
    std::string key;
    int number = 0;  ///< of the key's events
  };
  struct Suspension {
    int process_id = 0;
    std::int64_t from_ms = 0;
    std::int64_t to_ms = 0;
  };
  /// `earlier`: the calls before it of the same event.
  bool is_late(const Recorded& call, const std::vector<Recorded>& earlier) const;

  DaemonFixture& fixture_;
  std::vector<std::string> ids_;
  std::map<std::string, Place> places_;
  std::map<std::string, int> per_key_;
  std::vector<Suspension> suspensions_;
};

}  // namespace inboxd::support
