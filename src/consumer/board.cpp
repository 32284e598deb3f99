#include "consumer/board.hpp"

#include <utility>

#include "base/text.hpp"

namespace inboxd::consumer {
namespace {

/// One question that got lost is no trouble.
constexpr std::chrono::seconds long_unanswered{5};

}  // namespace

Board::Board() {
  for (const char* const error : away) complaints_[error] = 0;
}

void Board::assigned(const kafka::TopicPartition& partition) {
  const std::lock_guard lock{mutex_};
  Known& known = known_[partition];
  const std::uint64_t received = known.entry.received;
  known = {{partition, State::looking_up, -1, -1, received}, true};
}

void Board::revoked(const kafka::TopicPartition& partition) {
  const std::lock_guard lock{mutex_};
  known_[partition].is_assigned = false;
}

void Board::set_state(const kafka::TopicPartition& partition, State state) {
  const std::lock_guard lock{mutex_};
  known_[partition].entry.state = state;
}

void Board::set_high_watermark(const kafka::TopicPartition& partition, std::int64_t high) {
  const std::lock_guard lock{mutex_};
  known_[partition].entry.high_watermark = high;
}

void Board::advanced(const kafka::TopicPartition& partition, std::int64_t position, std::uint64_t received) {
  const std::lock_guard lock{mutex_};
  Entry& entry = known_[partition].entry;
  entry.position = position;
  entry.received += received;
}

void Board::complained(const std::string& error) {
  const std::lock_guard lock{mutex_};
  complaints_[error] += 1;
}

void Board::unanswered(Clock::time_point now) {
  complained("unanswered");
  const std::lock_guard lock{mutex_};
  if (!unanswered_since_) unanswered_since_ = now;
}

void Board::answered(std::vector<std::string> unknown_topics) {
  const std::lock_guard lock{mutex_};
  unanswered_since_.reset();
  unknown_topics_ = std::move(unknown_topics);
}

void Board::refused(std::string by_the_brokers) {
  const std::lock_guard lock{mutex_};
  refused_ = std::move(by_the_brokers);
}

void Board::admitted() {
  const std::lock_guard lock{mutex_};
  refused_.reset();
}

std::int64_t Board::unknown_topics() const {
  const std::lock_guard lock{mutex_};
  return static_cast<std::int64_t>(unknown_topics_.size());
}

std::optional<std::string> Board::trouble(Clock::time_point now) const {
  const std::lock_guard lock{mutex_};
  if (unanswered_since_ && now - *unanswered_since_ >= long_unanswered) return "the brokers do not answer";
  if (refused_) return refused_;
  if (unknown_topics_.empty()) return std::nullopt;
  return "the brokers know no topic " + base::joined(unknown_topics_) + ", or may not show it";
}

std::map<std::string, std::uint64_t> Board::complaints() const {
  const std::lock_guard lock{mutex_};
  return complaints_;
}

std::vector<Board::Entry> Board::entries() const {
  const std::lock_guard lock{mutex_};
  std::vector<Entry> out;
  for (const auto& [partition, known] : known_) {
    if (known.is_assigned) out.push_back(known.entry);
  }
  return out;
}

const char* name_of(Board::State state) {
  switch (state) {
    case Board::State::looking_up:
      return "looking_up";
    case Board::State::reading:
      return "reading";
    case Board::State::halted:
      return "halted";
  }
  return "looking_up";
}

}  // namespace inboxd::consumer
