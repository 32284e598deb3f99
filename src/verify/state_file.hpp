#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "base/result.hpp"
#include "kafka/handle.hpp"

namespace inboxd::verify {

/// The verified offsets of earlier runs, in a file: {"partitions": {"orders/3": {"log": "…", "verified_to": 1234}}}.
class StateFile final {
 public:
  /// An empty name: keeps nothing. A missing file is an empty state; a problem if it has another form.
  static base::Result<StateFile> read(const std::string& name);

  /// The offset to continue at; 0: none, or of another log (a topic that was created again, another database server, or
  /// another share of its offsets).
  std::int64_t verified_to(const kafka::TopicPartition& partition, const std::string& log) const;
  /// Whether there is an offset, but of another log.
  bool is_of_other(const kafka::TopicPartition& partition, const std::string& log) const;
  void set(const kafka::TopicPartition& partition, const std::string& log, std::int64_t offset);
  /// Replaces the file as a whole. A problem if it cannot be written.
  base::Result<bool> write() const;

 private:
  struct Place {
    std::string log;
    std::int64_t offset = 0;
  };
  std::string name_;
  std::map<kafka::TopicPartition, Place> places_;
};

}  // namespace inboxd::verify
