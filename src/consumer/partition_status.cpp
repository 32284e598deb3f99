#include "consumer/partition_status.hpp"

#include <algorithm>
#include <utility>

#include "base/mutex.hpp"
#include "base/text.hpp"
#include "config/units.hpp"

namespace inboxd::consumer {
namespace {

/// A single lost request is no problem yet.
constexpr std::chrono::seconds long_unanswered{5};

}  // namespace

PartitionStatus::PartitionStatus() {
  for (const char* const error : unreachable_errors) errors_[error] = 0;
}

void PartitionStatus::assigned(const kafka::TopicPartition& partition) {
  const base::Lock lock{mutex_};
  Known& known = known_[partition];
  const Entry before = known.entry;
  known = {{partition, PartitionLife::State::looking_up, -1, -1, before.received, before.quarantined}, true};
}

void PartitionStatus::revoked(const kafka::TopicPartition& partition) {
  const base::Lock lock{mutex_};
  known_[partition].is_assigned = false;
}

bool PartitionStatus::set_state(const kafka::TopicPartition& partition, PartitionLife::State state) {
  const base::Lock lock{mutex_};
  return std::exchange(known_[partition].entry.state, state) != state;
}

void PartitionStatus::set_high_watermark(const kafka::TopicPartition& partition, std::int64_t high,
                                         Clock::time_point observed_at) {
  const base::Lock lock{mutex_};
  Entry& entry = known_[partition].entry;
  entry.high_watermark = high;
  entry.observed_at = observed_at;
}

bool PartitionStatus::is_behind(const kafka::TopicPartition& partition, std::int64_t end) const {
  const base::Lock lock{mutex_};
  const auto found = known_.find(partition);
  return found != known_.end() && found->second.entry.position >= 0 && found->second.entry.position < end;
}

std::optional<std::int64_t> PartitionStatus::Entry::lag(Clock::time_point now) const {
  if (position < 0 || high_watermark < 0 || now - observed_at > fresh) return std::nullopt;
  return std::max<std::int64_t>(high_watermark - position, 0);
}

void PartitionStatus::advanced(const kafka::TopicPartition& partition, std::int64_t position, std::uint64_t received,
                               std::uint64_t quarantined) {
  const base::Lock lock{mutex_};
  Entry& entry = known_[partition].entry;
  entry.position = position;
  entry.received += received;
  entry.quarantined += quarantined;
}

std::map<std::string, PartitionStatus::Received> PartitionStatus::received() const {
  const base::Lock lock{mutex_};
  std::map<std::string, Received> out;
  for (const auto& [partition, known] : known_) {
    Received& topic = out[partition.topic];
    topic.records += known.entry.received;
    topic.quarantined += known.entry.quarantined;
  }
  return out;
}

void PartitionStatus::not_found(const kafka::TopicPartition& partition, const std::string& reason) {
  const base::Lock lock{mutex_};
  known_[partition].entry.reason = reason;
}

void PartitionStatus::connection_refused(std::string reason) {
  const base::Lock lock{mutex_};
  connection_refused_ = std::move(reason);
}

void PartitionStatus::name_brokers(std::string brokers) {
  const base::Lock lock{mutex_};
  brokers_ = std::move(brokers);
}

void PartitionStatus::connection_failed(std::string reason) {
  const base::Lock lock{mutex_};
  last_failure_ = std::move(reason);
}

void PartitionStatus::count_error(const std::string& error) {
  const base::Lock lock{mutex_};
  errors_[error] += 1;
}

void PartitionStatus::unanswered(Clock::time_point now) {
  count_error("unanswered");
  const base::Lock lock{mutex_};
  if (unanswered_since_) return;
  unanswered_since_ = now;
  unanswered_at_ =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
}

void PartitionStatus::answered(std::map<std::string, std::string> unknown_topics) {
  const base::Lock lock{mutex_};
  unanswered_since_.reset();
  connection_refused_.clear();
  last_failure_.clear();
  unknown_topics_ = std::move(unknown_topics);
}

void PartitionStatus::group_refused(std::string reason) {
  const base::Lock lock{mutex_};
  group_refused_ = std::move(reason);
}

void PartitionStatus::group_joined() {
  const base::Lock lock{mutex_};
  group_refused_.reset();
}

void PartitionStatus::share_doubted(std::string reason) {
  const base::Lock lock{mutex_};
  share_doubted_ = std::move(reason);
}

bool PartitionStatus::is_group_refused() const {
  const base::Lock lock{mutex_};
  return group_refused_.has_value();
}

std::int64_t PartitionStatus::unknown_topics() const {
  const base::Lock lock{mutex_};
  return static_cast<std::int64_t>(unknown_topics_.size());
}

std::optional<std::string> PartitionStatus::problem(Clock::time_point now) const {
  const base::Lock lock{mutex_};
  if (unanswered_since_ && now - *unanswered_since_ >= long_unanswered) {
    if (!connection_refused_.empty()) return "the brokers refuse the connection: " + connection_refused_;
    return "the brokers do not answer" + (brokers_.empty() ? "" : " (" + brokers_ + ")") + " since " +
           config::time_text(unanswered_at_) + (last_failure_.empty() ? "" : ", last: " + last_failure_);
  }
  if (group_refused_) return group_refused_;
  if (!share_doubted_.empty()) return share_doubted_;
  if (unknown_topics_.empty()) return std::nullopt;
  std::vector<std::string> unknown;
  for (const auto& [topic, remedy] : unknown_topics_) {
    const bool was_read = std::any_of(known_.begin(), known_.end(), [&name = topic](const auto& known) {
      return known.first.topic == name && known.second.entry.received > 0;
    });
    unknown.push_back(topic + " (" + (was_read ? "it was read before: was it deleted?" : remedy) + ")");
  }
  return "the brokers know no topic " + base::joined(unknown);
}

std::map<std::string, std::uint64_t> PartitionStatus::errors() const {
  const base::Lock lock{mutex_};
  return errors_;
}

std::vector<PartitionStatus::Entry> PartitionStatus::entries() const {
  const base::Lock lock{mutex_};
  std::vector<Entry> out;
  for (const auto& [partition, known] : known_) {
    if (known.is_assigned) out.push_back(known.entry);
  }
  return out;
}

}  // namespace inboxd::consumer
