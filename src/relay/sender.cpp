#include "relay/sender.hpp"

#include <algorithm>

#include "event/headers.hpp"

namespace inboxd::relay {
namespace {

using namespace std::chrono_literals;
using kafka::Delivery;

/// Sent messages are deleted together: so many, or after so long.
constexpr std::size_t delete_at_once = 2'000;
constexpr auto delete_after = 4ms;
constexpr auto look_for_due_lanes_every = 1s;
/// The lease counts as over so long before its end.
constexpr int lease_margin = 10;  // a tenth
constexpr std::size_t least_batch_bytes = 16 << 10;
constexpr std::size_t library_batch_bytes = 1'000'000;
constexpr std::size_t most_error_bytes = 1'000;

}  // namespace

Sender::Sender(const config::Outbox& settings, inbox::RelayLease lease, std::int64_t low_water,
               Clock::time_point taken_at, inbox::Connection& connection, std::unique_ptr<kafka::Producer> producer,
               Caution caution, Counts& counts, base::Logger& log)
    : settings_{settings},
      lease_{lease},
      connection_{connection},
      producer_{std::move(producer)},
      caution_{caution},
      counts_{counts},
      log_{log},
      lease_end_{taken_at + settings.lease - settings.lease / lease_margin},
      next_renewal_{taken_at + settings.lease / 3},
      highest_{low_water - 1} {}

Sender::~Sender() { counts_.in_flight = 0; }

Sender::State Sender::turn(bool reads) {
  const bool waits = !reads && has_in_flight();
  take_ends(waits ? std::chrono::milliseconds{5} : 0ms);
  if (!renew() || !set_failures_aside()) return State::lost;
  const bool has_failed = refused_in_batch_ || producer_->failure().has_value();
  if (!sent_.empty()) {
    const bool is_due = has_failed || in_flight_.empty() || sent_.size() >= delete_at_once ||
                        Clock::now() - sent_since_ >= delete_after;
    if (is_due && !delete_sent()) return State::lost;
  }
  if (has_failed) return State::failed;
  const bool is_past_culprit = in_flight_.empty() && !has_due_lanes_ && low_water() > caution_.until;
  if (caution_.until > 0 && is_past_culprit) return State::safe;
  found_some_ = false;
  if (!reads || !has_room()) return State::waiting;
  if (!read() || !read_due_lanes()) return State::lost;
  return found_some_ ? State::busy : State::waiting;
}

Caution Sender::successor(State state) const {
  Caution out = caution_;
  if (state == State::failed) {
    if (refused_in_batch_) out = {highest_, false, caution_.batch_bytes};
    return out;
  }
  out.until = 0;
  // Each message was accepted alone: the topic accepts smaller batches only.
  if (!out.has_culprit) {
    const std::size_t last = out.batch_bytes == 0 ? library_batch_bytes : out.batch_bytes;
    out.batch_bytes = std::max(last / 2, least_batch_bytes);
  }
  return out;
}

void Sender::finish(std::chrono::milliseconds longest) {
  const auto end = Clock::now() + longest;
  while (has_in_flight() && Clock::now() < end && Clock::now() < lease_end_ && !producer_->failure()) take_ends(10ms);
  if (Clock::now() >= lease_end_) return;
  if (!set_failures_aside() || !delete_sent()) return;
  inbox::release_relay(connection_, lease_, low_water());
}

// ---- ends of messages

void Sender::take_ends(std::chrono::milliseconds longest) {
  for (const Delivery& end : producer_->take(longest)) note_end(end);
  counts_.in_flight = static_cast<std::int64_t>(in_flight_.size());
}

void Sender::note_end(const Delivery& end) {
  const auto at = in_flight_.find(end.id);
  if (at == in_flight_.end()) return;
  if (end.end == Delivery::End::failed) return;  // stays in the database, for the next producer
  const InFlight message = at->second;
  if (end.end == Delivery::End::sent) {
    if (sent_.empty()) sent_since_ = Clock::now();
    sent_.push_back({end.id, message.message_id, message.is_waiting});
    if (message.is_waiting) ++sent_waiting_;
  } else if (end.end == Delivery::End::refused && caution_.until == 0 && in_flight_.size() > 1) {
    refused_in_batch_ = true;
    return;  // perhaps another message of its batch is the culprit: in flight until the next producer
  } else {
    note_refused(end);
  }
  in_flight_bytes_ -= message.bytes;
  if (message.is_waiting) --waiting_in_flight_;
  in_flight_.erase(at);
}

void Sender::note_refused(const Delivery& end) {
  const bool is_topics = end.end == Delivery::End::topic_refused;
  inbox::SetAside aside{end.id, end.error.substr(0, most_error_bytes), is_topics, std::nullopt};
  if (is_topics) aside.retry = settings_.retry;
  caution_.has_culprit = has_refused_ = true;
  aside_.push_back(std::move(aside));
  ++counts_.stopped;
  log_.error("relay.message_stopped", {{"outbox_id", end.id}, {"error", end.error}});
}

// ---- the database

bool Sender::renew() {
  const auto now = Clock::now();
  if (now >= lease_end_) return false;
  if (now < next_renewal_) return true;
  if (!inbox::renew_relay(connection_, lease_, settings_.lease, low_water())) return false;
  lease_end_ = now + settings_.lease - settings_.lease / lease_margin;
  next_renewal_ = now + settings_.lease / 3;
  return true;
}

/// Before the next read, so that the database knows who waits behind them.
bool Sender::set_failures_aside() {
  stopped_.clear();
  if (aside_.empty()) return true;
  return inbox::set_aside(connection_, lease_, std::exchange(aside_, {}));
}

/// If messages are missing, a failover has lost them, and others may have got their numbers: the successor begins at
/// the database's low-water mark.
bool Sender::delete_sent() {
  if (sent_.empty()) return true;
  const auto done = inbox::delete_sent(connection_, lease_, sent_);
  if (!done) return false;
  gaps_.note_transaction(done->id, done->oldest);
  counts_.published += sent_.size();
  const std::size_t missing = sent_.size() - done->deleted;
  sent_.clear();
  sent_waiting_ = 0;
  if (missing == 0) return true;
  has_missing_ = true;
  log_.error("relay.messages_missing", {{"messages", missing}});
  return false;
}

/// Messages to delete count as in flight: the next read must not find them.
std::int64_t Sender::low_water() const {
  std::int64_t low = gaps_.lowest(highest_ + 1);
  for (const auto& [id, message] : in_flight_) {
    if (message.is_waiting) continue;
    low = std::min(low, id);
    break;
  }
  for (const inbox::SentMessage& each : sent_) {
    if (!each.was_waiting) low = std::min(low, each.id);
  }
  for (const inbox::SetAside& aside : aside_) low = std::min(low, aside.id);
  return low;
}

bool Sender::has_room() const {
  return in_flight_.size() < static_cast<std::size_t>(settings_.in_flight_messages) &&
         in_flight_bytes_ < settings_.in_flight_bytes;
}

bool Sender::read() {
  const auto began = Clock::now();
  const auto room = settings_.in_flight_messages - static_cast<std::int64_t>(in_flight_.size());
  const inbox::OutboxBite bite{std::min<std::int64_t>(settings_.batch, room),
                               static_cast<std::int64_t>(settings_.batch_bytes)};
  const auto rows = inbox::read_outbox(connection_, gaps_.to_probe(began), highest_, bite);
  std::vector<std::int64_t> ids;
  ids.reserve(static_cast<std::size_t>(rows.size()));
  for (int i = 0; i < rows.size(); ++i) ids.push_back(rows.at(i).id);
  const auto now = Clock::now();
  highest_ = gaps_.note_read(ids, highest_, now, now - began);
  found_some_ = rows.size() > 0;
  return send(rows, false);
}

bool Sender::read_due_lanes() {
  const auto now = Clock::now();
  if (waiting_in_flight_ > 0 || sent_waiting_ > 0 || now < next_lanes_) return true;
  const inbox::OutboxBite bite{std::max(settings_.batch / 5, 1), static_cast<std::int64_t>(settings_.batch_bytes)};
  const auto rows = inbox::read_due_lanes(connection_, lease_, bite);
  has_due_lanes_ = rows.size() > 0;
  next_lanes_ = has_due_lanes_ ? now : now + look_for_due_lanes_every;
  found_some_ = found_some_ || has_due_lanes_;
  return send(rows, true);
}

// ---- sending

/// False: the lease has ended. Messages behind a stopped one are set aside, and those that it stops in this batch.
bool Sender::send(const inbox::OutboxRows& rows, bool are_waiting) {
  for (int i = 0; i < rows.size(); ++i) {
    if (Clock::now() >= lease_end_) return false;
    const inbox::OutboxRow row = rows.at(i);
    if (in_flight_.contains(row.id)) continue;
    if (row.is_behind || is_stopped(row)) {
      aside_.push_back({row.id, std::nullopt, false, std::nullopt});
    } else {
      send(row, are_waiting);
    }
  }
  counts_.in_flight = static_cast<std::int64_t>(in_flight_.size());
  return set_failures_aside();
}

/// By a message of the same batch.
bool Sender::is_stopped(const inbox::OutboxRow& row) const {
  if (stopped_.empty()) return false;
  const std::string topic{row.topic};
  return stopped_.contains({topic, ""}) || (row.key && stopped_.contains({topic, "k" + std::string{*row.key}}));
}

void Sender::send(const inbox::OutboxRow& row, bool is_waiting) {
  kafka::OutgoingMessage message;
  message.id = row.id;
  message.topic = row.topic;
  message.key = row.key;
  message.payload = row.payload;
  for (const event::Header& header : event::unpack_headers(row.headers)) {
    message.headers.emplace_back(std::string{header.name}, header.value);
  }
  const std::string id = row.message_id.text();
  message.headers.emplace_back(settings_.id_header, id);
  in_flight_[row.id] = {row.bytes(), row.message_id, is_waiting};
  in_flight_bytes_ += row.bytes();
  if (is_waiting) ++waiting_in_flight_;
  const auto refused = producer_->send(message);
  if (!refused) return;
  if (refused->end == Delivery::End::failed) return;
  if (refused->end == Delivery::End::topic_refused) {
    stopped_.insert({std::string{row.topic}, ""});
  } else if (row.key) {
    stopped_.insert({std::string{row.topic}, "k" + std::string{*row.key}});
  }
  InFlight& entry = in_flight_[row.id];
  in_flight_bytes_ -= entry.bytes;
  if (entry.is_waiting) --waiting_in_flight_;
  in_flight_.erase(row.id);
  note_refused(*refused);
}

}  // namespace inboxd::relay
