#include "relay/sender.hpp"

#include <algorithm>
#include <limits>

#include "event/headers.hpp"

namespace inboxd::relay {
namespace {

using namespace std::chrono_literals;
using kafka::Delivery;
using Why = inbox::SetAside::Why;

/// Sent messages are deleted together: so many, or after so long.
constexpr std::size_t delete_at_once = 2'000;
constexpr auto delete_after = 4ms;
constexpr auto look_for_due_lanes_every = 1s;
constexpr auto look_for_stalled_every = 1s;
constexpr auto look_below_low_water_every = 60s;
constexpr auto wait_for_answer = 300ms;
/// How long a producer that was given up may take to report on its messages.
constexpr auto longest_drain = 2s;
constexpr auto next_trial_after = 1s;
constexpr auto too_large_for = 60s;
constexpr std::size_t most_refused_batches = 16;
constexpr auto longest_sending = 200ms;
/// If a message cannot be sent yet and no other one ends.
constexpr auto held_for = 200ms;
constexpr auto held_lanes_for = 20ms;
/// The lease counts as over so long before its end.
constexpr int lease_margin = 10;  // a tenth
constexpr std::size_t most_lanes = 1'000;
constexpr std::size_t least_batch_bytes = 16 << 10;
constexpr std::size_t library_batch_bytes = 1'000'000;
constexpr std::size_t most_error_bytes = 1'000;

}  // namespace

Sender::Sender(const config::Outbox& settings, inbox::RelayLease lease, std::int64_t low_water,
               Clock::time_point taken_at, inbox::Connection& connection, std::unique_ptr<kafka::Producer> producer,
               MakeProducer make_trial, Handover& handover, Counts& counts, base::Repeats& repeats, base::Logger& log)
    : settings_{settings},
      lease_{lease},
      connection_{connection},
      producer_{std::move(producer)},
      make_trial_{std::move(make_trial)},
      handover_{handover},
      counts_{counts},
      repeats_{repeats},
      log_{log},
      lease_end_{taken_at + settings.lease - settings.lease / lease_margin},
      next_renewal_{taken_at + settings.lease / 3},
      next_check_{taken_at + look_below_low_water_every},
      highest_{low_water - 1} {}

Sender::~Sender() { counts_.in_flight = 0; }

Sender::State Sender::turn(bool reads) {
  const bool waits = !reads && has_in_flight();
  take_ends(waits ? 5ms : 0ms);
  note_stalled();
  const bool is_resized = needs_smaller_batches();
  const bool has_failed = is_resized || !refused_.empty() || is_stalled_ || producer_->failure().has_value();
  if (has_failed) drain();
  if (!renew() || !set_failures_aside()) return State::lost;
  if ((has_failed || is_due_to_delete()) && !delete_sent()) return State::lost;
  if (has_failed) return is_resized ? State::resized : State::failed;
  if (trial_ && trial_->failure()) drop_trial();
  found_some_ = false;
  if (!reads || !has_room()) return State::waiting;
  if (Clock::now() < next_read_) return State::busy;
  if (!read() || !read_due_lanes()) return State::lost;
  return found_some_ ? State::busy : State::waiting;
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
  for (const Delivery& end : producer_->take(longest)) note_end(end, false);
  if (trial_) {
    for (const Delivery& end : trial_->take(0ms)) note_end(end, true);
  }
  counts_.in_flight = static_cast<std::int64_t>(in_flight_.size());
}

void Sender::note_end(const Delivery& end, bool is_trial) {
  const auto at = in_flight_.find(end.id);
  if (at == in_flight_.end() || at->second.is_trial != is_trial) return;
  switch (end.end) {
    case Delivery::End::failed:
      return;  // stays in the database, for the next producer
    case Delivery::End::sent:
      return note_sent(end.id, at->second);
    case Delivery::End::topic_refused:
      return note_refused(end.id, Why::topic_refused, end.topic, end.error);
    case Delivery::End::refused:
      if (!is_trial) return refused_.push_back(end);
      note_too_large(end);
      note_refused(end.id, Why::refused, end.topic, end.error);
  }
}

void Sender::note_sent(std::int64_t id, const InFlight& message) {
  if (sent_.empty()) sent_since_ = Clock::now();
  sent_.push_back({id, message.message_id, message.lane});
  if (message.lane) ++lanes_[*message.lane];  // in flight until it is deleted
  newest_acknowledged_ = std::max(newest_acknowledged_, message.since);
  has_news_ = true;
  for (Handover::Batch& batch : handover_.refused) {
    if (!batch.suspects.empty()) batch.suspects.erase(id);
  }
  next_read_ = {};
  forget(id);
}

void Sender::note_refused(std::int64_t id, Why why, std::string_view topic, const std::string& error) {
  const bool is_topics = why == Why::topic_refused;
  inbox::SetAside aside{id, why, error.substr(0, most_error_bytes)};
  if (is_topics) aside.retry = settings_.retry;
  aside_.push_back(std::move(aside));
  ++counts_.stopped;
  has_refused_ = true;
  std::erase_if(handover_.refused, [&](const auto& batch) { return batch.suspects.contains(id); });
  if (!is_topics || repeats_.is_news("stopped " + std::string{topic})) {
    log_.error("relay.message_stopped", {{"outbox_id", id}, {"topic", topic}, {"error", error}});
  }
  forget(id);
}

/// A refusal costs a producer. One such message is seldom alone, so the next ones are tried apart.
void Sender::note_too_large(const Delivery& end) {
  if (!end.is_too_large) return;
  if (handover_.too_large.size() >= most_lanes) handover_.too_large.clear();
  auto& known = handover_.too_large[std::string{end.topic}];
  const std::size_t bytes = in_flight_[end.id].bytes;
  const auto now = Clock::now();
  known = {known.until > now ? std::min(known.bytes, bytes) : bytes, now + too_large_for};
}

bool Sender::is_suspect(const inbox::OutboxRow& row) const {
  if (handover_.too_large.empty() || row.lane) return false;
  const auto known = handover_.too_large.find(row.topic);
  return known != handover_.too_large.end() && row.bytes() >= known->second.bytes && Clock::now() < known->second.until;
}

/// Brokers refuse whole batches. The messages of one are tried alone, apart from the main stream.
void Sender::judge_refused_batch() {
  if (refused_.size() == 1) {
    const Delivery& end = refused_.front();
    note_too_large(end);
    note_refused(end.id, Why::refused, end.topic, end.error);
  } else if (!refused_.empty()) {
    Handover::Batch batch;
    for (const Delivery& end : refused_) {
      aside_.push_back({end.id, Why::suspect});
      batch.suspects.insert(end.id);
      batch.bytes += in_flight_[end.id].bytes;
      forget(end.id);
    }
    if (handover_.refused.size() >= most_refused_batches) handover_.refused.erase(handover_.refused.begin());
    handover_.refused.push_back(std::move(batch));
    has_refused_ = true;
  }
  refused_.clear();
}

/// If each message of a refused batch was accepted alone, its topic accepts smaller batches only.
bool Sender::needs_smaller_batches() {
  const auto accepted = std::find_if(handover_.refused.begin(), handover_.refused.end(),
                                     [](const auto& batch) { return batch.suspects.empty(); });
  if (accepted == handover_.refused.end()) return false;
  const std::size_t bytes = accepted->bytes;
  handover_.refused.clear();
  const std::size_t now = handover_.batch_bytes == 0 ? library_batch_bytes : handover_.batch_bytes;
  if (now == least_batch_bytes) return false;
  handover_.batch_bytes = std::max(std::min(bytes, now) / 2, least_batch_bytes);
  return true;
}

/// Brokers that answer and do not acknowledge a message would hold up all others: its topic waits instead. If they do
/// not answer, nothing can be sent anyway; if they are slow, messages are acknowledged about in the order of sending.
void Sender::note_stalled() {
  const auto now = Clock::now();
  if (now < next_stall_check_) return;
  next_stall_check_ = now + look_for_stalled_every;
  if (std::exchange(has_news_, false)) last_news_ = now;
  const auto is_old = [&](const auto& entry) { return now - entry.second.since >= look_for_stalled_every * 2; };
  const bool waits = std::any_of(in_flight_.begin(), in_flight_.end(), is_old);
  if (!waits) return answered_since_.reset();
  if (!producer_->is_answered(wait_for_answer)) {
    next_stall_check_ = now + look_for_stalled_every * 5;  // unanswered questions keep others from the connection
    return answered_since_.reset();
  }
  if (!answered_since_) answered_since_ = now;
  if (now - *answered_since_ < settings_.stalled_after) return;
  const auto last = now - last_news_ >= settings_.stalled_after ? now : newest_acknowledged_;
  std::vector<std::int64_t> stalled;
  for (const auto& [id, message] : in_flight_) {
    if (last - message.since >= settings_.stalled_after) stalled.push_back(id);
  }
  if (stalled.empty()) return;
  bool is_trial_stalled = false;
  for (const std::int64_t id : stalled) {
    (in_flight_[id].is_trial ? is_trial_stalled : is_stalled_) = true;
    note_refused(id, Why::topic_refused, "",
                 "the brokers answer, but do not acknowledge it; is a partition without leader or in-sync replicas?");
  }
  if (is_trial_stalled) drop_trial();
  answered_since_.reset();
}

void Sender::forget(std::int64_t id) {
  const auto at = in_flight_.find(id);
  if (at == in_flight_.end()) return;
  in_flight_bytes_ -= at->second.bytes;
  if (at->second.lane && --lanes_[*at->second.lane] == 0) lanes_.erase(*at->second.lane);
  in_flight_.erase(at);
}

/// The main producer is given up: its last reports tell which messages it has sent, and which were refused.
void Sender::drain() {
  producer_->purge();
  const auto end = Clock::now() + longest_drain;
  do {
    take_ends(10ms);
  } while (producer_->has_open() && Clock::now() < end);
  judge_refused_batch();
}

/// Its messages stay in the database, due.
void Sender::drop_trial() {
  trial_.reset();
  next_trial_ = Clock::now() + next_trial_after;
  std::vector<std::int64_t> dropped;
  for (const auto& [id, message] : in_flight_) {
    if (message.is_trial) dropped.push_back(id);
  }
  for (const std::int64_t id : dropped) forget(id);
}

// ---- the database

bool Sender::renew() {
  const auto now = Clock::now();
  if (now >= lease_end_) return false;
  if (now < next_renewal_) return true;
  const bool checks = now >= next_check_;
  const auto renewal = inbox::renew_relay(connection_, lease_, settings_.lease, low_water(), checks);
  if (renewal == inbox::Renewal::behind) note_lost_commits();
  if (renewal != inbox::Renewal::done) return false;
  if (checks) next_check_ = now + look_below_low_water_every;
  lease_end_ = now + settings_.lease - settings_.lease / lease_margin;
  next_renewal_ = now + settings_.lease / 3;
  return true;
}

/// A failover behind a pooler that hides it, or a restore. The successor begins at the database's low-water mark.
void Sender::note_lost_commits() {
  has_lost_commits_ = true;
  log_.error("relay.commits_lost");
}

/// Before the next read, so that the database knows who waits behind them.
bool Sender::set_failures_aside() {
  stopped_.clear();
  if (aside_.empty()) return true;
  next_lanes_ = {};
  return inbox::set_aside(connection_, lease_, std::exchange(aside_, {}));
}

bool Sender::is_due_to_delete() const {
  return !sent_.empty() &&
         (in_flight_.empty() || sent_.size() >= delete_at_once || Clock::now() - sent_since_ >= delete_after);
}

bool Sender::delete_sent() {
  if (sent_.empty()) return true;
  const auto done = inbox::delete_sent(connection_, lease_, sent_);
  if (!done) return false;
  gaps_.note_transaction(done->id, done->oldest);
  counts_.published += sent_.size();
  // An operator may have skipped those of lanes.
  const auto is_in_lane = [](const inbox::SentMessage& each) { return each.lane.has_value(); };
  const auto in_lanes = static_cast<std::size_t>(std::count_if(sent_.begin(), sent_.end(), is_in_lane));
  if (done->deleted + in_lanes < sent_.size()) note_lost_commits();  // others may have got their numbers
  for (const inbox::SentMessage& each : sent_) {
    if (!each.lane) continue;
    next_lanes_ = {};  // the next one of its lane may follow
    if (--lanes_[*each.lane] == 0) lanes_.erase(*each.lane);
  }
  sent_.clear();
  return !has_lost_commits_;
}

/// Messages to delete count as in flight: the next read must not find them.
std::int64_t Sender::low_water() const {
  std::int64_t low = gaps_.lowest(highest_ + 1);
  for (const auto& [id, message] : in_flight_) {
    if (message.lane) continue;
    low = std::min(low, id);
    break;
  }
  for (const inbox::SentMessage& each : sent_) {
    if (!each.lane) low = std::min(low, each.id);
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
  const auto are_gaps_sent = rows.size() > 0 && gaps_.has_unprobed() ? send_old_gaps(bite) : true;
  const auto sent = are_gaps_sent == std::optional{true} ? send(rows) : std::optional{0};
  if (!are_gaps_sent || !sent) return false;
  std::vector<std::int64_t> ids;
  ids.reserve(static_cast<std::size_t>(*sent));
  for (int i = 0; i < *sent; ++i) ids.push_back(rows.at(i).id);
  const auto now = Clock::now();
  highest_ = gaps_.note_read(ids, highest_, *sent == rows.size(), now, now - began);
  found_some_ = rows.size() > 0;
  is_caught_up_ = is_caught_up_ || !found_some_;
  return true;
}

/// A transaction that was open for long may have ended, and its session may have published one of the messages that
/// were just read: those in the gap go first. Returns whether all of them are sent; nullopt: the lease has ended.
std::optional<bool> Sender::send_old_gaps(inbox::OutboxBite bite) {
  auto ranges = gaps_.note_running(inbox::running_transactions(connection_, gaps_.before()));
  while (!ranges.empty()) {
    const auto rows = inbox::read_outbox(connection_, ranges, std::numeric_limits<std::int64_t>::max(), bite);
    if (rows.size() == 0) break;
    const auto sent = send(rows);
    if (!sent) return std::nullopt;
    for (int i = 0; i < *sent; ++i) gaps_.take_out(rows.at(i).id);
    if (*sent < rows.size()) {
      gaps_.probe_again();
      return false;
    }
    const std::int64_t last = rows.at(rows.size() - 1).id;
    std::erase_if(ranges, [&](const auto& range) { return range.last <= last; });
    for (auto& range : ranges) range.first = std::max(range.first, last + 1);
  }
  return true;
}

bool Sender::read_due_lanes() {
  const auto now = Clock::now();
  if (now < next_lanes_ || lanes_.size() >= most_lanes) return true;
  std::vector<std::int64_t> in_flight;
  for (const auto& [lane, messages] : lanes_) in_flight.push_back(lane);
  const inbox::OutboxBite bite{std::max(settings_.batch / 5, 1), static_cast<std::int64_t>(settings_.batch_bytes)};
  const auto rows = inbox::read_due_lanes(connection_, lease_, bite, in_flight);
  const std::size_t before = in_flight_.size();
  const auto sent = send(rows);
  if (!sent) return false;
  next_lanes_ = now + (rows.size() == 0 ? look_for_due_lanes_every : in_flight_.size() > before ? 0ms : held_lanes_for);
  found_some_ = found_some_ || rows.size() > 0;
  return true;
}

// ---- sending

/// Returns how many of the first rows are on their way or set aside; nullopt: the lease has ended. Messages behind a
/// stopped one are set aside, and those that it stops in this batch.
std::optional<int> Sender::send(const inbox::OutboxRows& rows) {
  const std::int64_t end_of_sent = frontier();
  const auto began = Clock::now();
  int done = 0;
  for (; done < rows.size(); ++done) {
    const auto now = Clock::now();
    if (now >= lease_end_) return std::nullopt;
    if (now - began > longest_sending) break;  // new topics take time; the lease must be renewed
    const inbox::OutboxRow row = rows.at(done);
    if (in_flight_.contains(row.id) || (row.lane && row.id > end_of_sent)) continue;
    if (row.is_alone && !has_trial()) continue;
    if (row.is_behind || (!row.is_alone && is_stopped(row))) {
      aside_.push_back({row.id, Why::behind});
    } else if (is_suspect(row)) {
      aside_.push_back({row.id, Why::suspect});
      stopped_.insert({std::string{row.topic}, "k" + std::string{row.key.value_or("")}});
    } else if (!send(row)) {
      next_read_ = Clock::now() + held_for;
      break;
    }
  }
  counts_.in_flight = static_cast<std::int64_t>(in_flight_.size());
  if (!set_failures_aside()) return std::nullopt;
  return done;
}

/// The main producer has sent all messages below. A lane's message above may have to wait for one of its key.
std::int64_t Sender::frontier() const {
  for (const auto& [id, message] : in_flight_) {
    if (!message.lane) return id;
  }
  return is_caught_up_ ? std::numeric_limits<std::int64_t>::max() : highest_ + 1;
}

/// By a message of the same batch.
bool Sender::is_stopped(const inbox::OutboxRow& row) const {
  if (stopped_.empty()) return false;
  const std::string topic{row.topic};
  return stopped_.contains({topic, ""}) || (row.key && stopped_.contains({topic, "k" + std::string{*row.key}}));
}

bool Sender::has_trial() {
  if (!trial_ && Clock::now() >= next_trial_) {
    trial_ = make_trial_();
    next_trial_ = Clock::now() + next_trial_after;
  }
  return trial_ != nullptr;
}

/// False: not now.
bool Sender::send(const inbox::OutboxRow& row) {
  kafka::OutgoingMessage message;
  message.id = row.id;
  message.topic = row.topic;
  message.key = row.key;
  message.payload = row.payload;
  if (!row.is_alone && !producer_->may_send(message)) return false;
  for (const event::Header& header : event::unpack_headers(row.headers)) {
    message.headers.emplace_back(std::string{header.name}, header.value);
  }
  const std::string id = row.message_id.text();
  message.headers.emplace_back(settings_.id_header, id);
  in_flight_[row.id] = {row.bytes(), row.message_id, row.lane, row.is_alone, Clock::now()};
  in_flight_bytes_ += row.bytes();
  if (row.lane) ++lanes_[*row.lane];
  const auto refused = (row.is_alone ? trial_ : producer_)->send(message);
  if (!refused || refused->end == Delivery::End::failed) return true;
  const bool is_topics = refused->end == Delivery::End::topic_refused;
  if (is_topics) {
    stopped_.insert({std::string{row.topic}, ""});
  } else if (row.key) {
    stopped_.insert({std::string{row.topic}, "k" + std::string{*row.key}});
  }
  note_refused(row.id, is_topics ? Why::topic_refused : Why::refused, row.topic, refused->error);
  return true;
}

}  // namespace inboxd::relay
