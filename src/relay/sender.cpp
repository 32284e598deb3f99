#include "relay/sender.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "event/copy_digest.hpp"
#include "event/headers.hpp"

namespace inboxd::relay {
namespace {

using namespace std::chrono_literals;
using kafka::Delivery;
using Why = inbox::SetAside::Why;

/// Sent messages are deleted together: at this number, or after this time.
constexpr std::size_t delete_at_once = 2'000;
constexpr auto delete_after = 4ms;
constexpr auto due_lanes_interval = 1s;
constexpr auto low_water_interval = 60s;
/// How long a producer that was given up may take to report on its messages.
constexpr auto max_drain = 2s;
constexpr auto sending_timeout = 200ms;
/// If a message cannot be sent yet and no other message ends.
constexpr auto held_for = 200ms;
/// How long a question about all topics of a bite may take.
constexpr auto question_timeout = 300ms;
/// Brokers may not know a new topic for a moment: a missing topic is tried again sooner at first.
constexpr auto young_age = 5s;
constexpr auto young_retry = 1s;
constexpr auto held_lanes_for = 20ms;
/// The lease counts as over when less than this part of it is left.
constexpr int lease_margin = 10;  // a tenth
constexpr std::size_t max_lanes = 1'000;
constexpr std::size_t max_error_bytes = 1'000;
constexpr const char* dead_letter_header = "kafka_dlt-original-topic";
constexpr const char* dead_letter_id_header = "inboxd-outbox-id";
constexpr std::size_t max_named_topics = 10'000;
/// Messages that a statement sets aside: more would take too long for a short lease.
constexpr std::size_t max_set_aside = 1'000;

}  // namespace

Sender::Sender(const config::Outbox& settings, inbox::RelayLease lease, std::int64_t low_water,
               Clock::time_point taken_at, inbox::Connection& connection, std::unique_ptr<kafka::Producer> producer,
               Trial::Make make_trial, Refusals& refusals, Counts& counts, base::Repeats& repeats, base::Logger& log)
    : settings_{settings},
      lease_{lease},
      connection_{connection},
      allowed_{settings_.topics, connection_},
      stream_{std::move(producer), log},
      trial_{std::move(make_trial), log},
      refusals_{refusals},
      counts_{counts},
      repeats_{repeats},
      log_{log},
      lease_end_{taken_at + settings.lease - settings.lease / lease_margin},
      next_renewal_{taken_at + settings.lease / 3},
      next_check_{taken_at + low_water_interval},
      highest_{low_water - 1} {}

Sender::~Sender() { counts_.in_flight = 0; }

Sender::State Sender::turn(bool reads) {
  const bool waits = !reads && has_in_flight();
  take_ends(waits ? 5ms : 0ms);
  note_stalled();
  log_refused_topics();
  stream_.review(refusals_, Clock::now());
  const bool has_failed = stream_.state() != Stream::State::sending;
  if (has_failed) drain();
  if (!renew() || !set_failures_aside()) return State::lost;
  if ((has_failed || is_due_to_delete()) && !delete_sent()) return State::lost;
  if (has_failed) return stream_.state() == Stream::State::resized ? State::resized : State::failed;
  if (trial_.has_failed()) drop_trial();
  found_some_ = false;
  if (!reads || !has_room()) return State::waiting;
  if (Clock::now() < next_read_) return State::busy;
  if (!read() || !read_due_lanes()) return State::lost;
  return found_some_ ? State::busy : State::waiting;
}

void Sender::finish(std::chrono::milliseconds longest) {
  const auto end = Clock::now() + longest;
  while (has_in_flight() && Clock::now() < std::min(end, lease_end_) && !stream_.producer->failure()) take_ends(10ms);
  if (Clock::now() >= lease_end_) return;
  if (!set_failures_aside() || !delete_sent()) return;
  inbox::release_relay(connection_, lease_, low_water());
}

// ---- ends of messages

void Sender::take_ends(std::chrono::milliseconds longest) {
  for (const Delivery& end : stream_.producer->take(longest)) note_end(end, stream_.flight);
  for (const Delivery& end : trial_.take()) note_end(end, trial_.flight);
  counts_.in_flight = static_cast<std::int64_t>(in_flight());
}

void Sender::note_end(const Delivery& end, Flight& of) {
  const auto at = of.find(end.id);
  if (at == of.end()) return;
  switch (end.end) {
    case Delivery::End::failed:
      return;  // stays in the database, for the next producer
    case Delivery::End::sent:
      return note_sent(end.id, at->second);
    case Delivery::End::topic_refused:
      return note_refused(end.id, Why::topic_refused, end.topic, end.error);
    case Delivery::End::refused:
      &of == &trial_.flight ? note_refused_alone(end, of) : stream_.refused.push_back(end);
  }
}

void Sender::note_sent(std::int64_t id, const InFlight& message) {
  if (sent_.empty()) sent_since_ = Clock::now();
  sent_.push_back({id, message.message_id, message.lane});
  if (message.lane) ++lanes_[*message.lane];  // in flight until it is deleted
  stream_.acknowledged(message.since);
  refusals_.note_sent(id);
  next_read_ = {};
  forget(id);
}

void Sender::note_refused(std::int64_t id, Why why, std::string_view topic, const std::string& error) {
  const bool is_topics = why == Why::topic_refused;
  inbox::SetAside aside{id, why, error.substr(0, max_error_bytes)};
  const bool is_young =
      is_topics && !topic.empty() && allowed_.contains(topic) && stream_.producer->missing_for(topic) < young_age;
  if (is_topics) aside.retry = settings_.retry;
  if (is_young) aside.retry = std::min<std::chrono::milliseconds>(young_retry, settings_.retry);
  aside_.push_back(std::move(aside));
  ++counts_.stopped;
  has_refused_ = true;
  refusals_.note_refused(id);
  if (is_topics) {
    if (refused_topics_.size() < max_named_topics) refused_topics_.emplace(topic);
    refused_error_ = error;
    refused_id_ = id;
  } else {
    log_.error("relay.message_stopped", {{"outbox_id", id}, {"topic", topic}, {"error", error}});
  }
  forget(id);
}

/// Once a minute, however many topics there are.
void Sender::log_refused_topics() {
  if (refused_topics_.empty() || !repeats_.is_news("topics")) return;
  const std::string& example = *refused_topics_.begin();
  log_.error("relay.message_stopped", {{"outbox_id", refused_id_},
                                       {"topic", example.empty() ? "see outbox list" : example},
                                       {"topics", refused_topics_.size()},
                                       {"error", refused_error_}});
  refused_topics_.clear();
}

void Sender::note_refused_alone(const Delivery& end, Flight& of) {
  if (end.is_too_large) refusals_.note_too_large(std::string{end.topic}, of[end.id].bytes, Clock::now());
  note_refused(end.id, Why::refused, end.topic, end.error);
}

/// Brokers refuse whole batches. The messages of a refused batch are tried alone, apart from the main stream.
void Sender::judge_refused_batch() {
  const bool is_clear = stream_.refused.size() == 1 && !stream_.refused.front().is_about_time;
  if (is_clear) {
    note_refused_alone(stream_.refused.front(), stream_.flight);
  } else if (!stream_.refused.empty()) {
    std::set<std::int64_t> messages;
    std::size_t bytes = 0;
    for (const Delivery& end : stream_.refused) {
      aside_.push_back({end.id, Why::suspect});
      messages.insert(end.id);
      bytes += stream_.flight[end.id].bytes;
      forget(end.id);
    }
    refusals_.note_batch(std::move(messages), bytes);
    has_refused_ = true;
  }
  stream_.refused.clear();
}

/// The topics of stalled messages wait.
void Sender::note_stalled() {
  const auto now = Clock::now();
  if (!stream_.is_check_due(now)) return;
  auto oldest = Clock::time_point::max();
  for (const Flight* flight : {&stream_.flight, &trial_.flight}) {
    for (const auto& [id, message] : *flight) oldest = std::min(oldest, message.since);
  }
  const auto sent_before = stream_.find_stalled(now, oldest, settings_.stalled_after);
  if (!sent_before) return;
  const auto stop = [&](const Flight& flight) {
    std::vector<std::int64_t> stalled;
    for (const auto& [id, message] : flight) {
      if (message.since <= *sent_before) stalled.push_back(id);
    }
    for (const std::int64_t id : stalled) {
      note_refused(id, Why::topic_refused, "",
                   "the brokers answer, but do not acknowledge it; is a partition without leader or in-sync replicas?");
    }
    return !stalled.empty();
  };
  if (stop(stream_.flight)) stream_.fail();
  if (stop(trial_.flight)) drop_trial();
}

void Sender::forget(std::int64_t id) {
  for (Flight* const flight : {&stream_.flight, &trial_.flight}) {
    if (const auto message = flight->extract(id)) forget(message.mapped());
  }
}

void Sender::forget(const InFlight& message) {
  in_flight_bytes_ -= message.bytes;
  if (message.lane && --lanes_[*message.lane] == 0) lanes_.erase(*message.lane);
}

/// The main producer is given up: its last reports tell which messages it has sent, and which were refused.
void Sender::drain() {
  stream_.producer->purge();
  const auto end = Clock::now() + max_drain;
  do {
    take_ends(10ms);
  } while (stream_.producer->has_open() && Clock::now() < end);
  judge_refused_batch();
}

void Sender::drop_trial() {
  for (const auto& [id, message] : trial_.rest(Clock::now())) forget(message);
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
  if (checks) next_check_ = now + low_water_interval;
  lease_end_ = now + settings_.lease - settings_.lease / lease_margin;
  next_renewal_ = now + settings_.lease / 3;
  return true;
}

/// A failover that a pooler hides, or a restore. The successor begins at the database's low-water mark.
void Sender::note_lost_commits() {
  has_lost_commits_ = true;
  log_.error("relay.commits_lost");
}

/// Before the next read, so that the database knows which messages wait for them.
bool Sender::set_failures_aside() {
  stopped_.clear();
  if (aside_.empty()) return true;
  next_lanes_ = {};
  return inbox::set_aside(connection_, lease_, std::exchange(aside_, {}));
}

bool Sender::is_due_to_delete() const {
  return !sent_.empty() &&
         (!has_in_flight() || sent_.size() >= delete_at_once || Clock::now() - sent_since_ >= delete_after);
}

bool Sender::delete_sent() {
  if (sent_.empty()) return true;
  const auto done = inbox::delete_sent(connection_, lease_, sent_);
  if (!done) return false;
  gaps_.note_transaction(done->id, done->oldest);
  counts_.published += sent_.size();
  std::size_t expected = 0;
  for (const inbox::SentMessage& each : sent_) {
    if (!each.lane) {
      ++expected;  // an operator may have skipped messages of lanes
      continue;
    }
    next_lanes_ = {};  // the next message of its lane may follow
    if (--lanes_[*each.lane] == 0) lanes_.erase(*each.lane);
  }
  sent_.clear();
  if (done->deleted < expected) note_lost_commits();  // others may have got their numbers
  return !has_lost_commits_;
}

/// Of the main stream, apart from lanes.
std::optional<std::int64_t> Sender::lowest_in_flight() const {
  const auto lowest =
      std::find_if(stream_.flight.begin(), stream_.flight.end(), [](const auto& entry) { return !entry.second.lane; });
  return lowest == stream_.flight.end() ? std::nullopt : std::optional{lowest->first};
}

/// Messages to delete count as in flight: the next read must not find them.
std::int64_t Sender::low_water() const {
  std::int64_t low = gaps_.lowest(highest_ + 1);
  low = std::min(low, lowest_in_flight().value_or(low));
  for (const inbox::SentMessage& each : sent_) {
    if (!each.lane) low = std::min(low, each.id);
  }
  for (const inbox::SetAside& aside : aside_) low = std::min(low, aside.id);
  return low;
}

bool Sender::has_room() const {
  return in_flight() < static_cast<std::size_t>(settings_.in_flight_messages) &&
         in_flight_bytes_ < settings_.in_flight_bytes;
}

bool Sender::read() {
  const auto began = Clock::now();
  const auto room = settings_.in_flight_messages - static_cast<std::int64_t>(in_flight());
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

/// A transaction that was open for long may have ended, and its session may have published a message that was just
/// read: messages in the gap go first. Returns whether all of them are sent; nullopt: the lease has ended.
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
  if (now < next_lanes_) return true;
  if (lanes_.size() >= max_lanes) {
    next_lanes_ = now + held_lanes_for;
    return true;
  }
  std::vector<std::int64_t> lanes;
  lanes.reserve(lanes_.size());
  for (const auto& [lane, messages] : lanes_) lanes.push_back(lane);
  const inbox::OutboxBite bite{std::max(settings_.batch / 5, 1), static_cast<std::int64_t>(settings_.batch_bytes)};
  const auto rows = inbox::read_due_lanes(connection_, lease_, bite, lanes);
  const std::size_t before = in_flight();
  const auto sent = send(rows);
  if (!sent) return false;
  next_lanes_ = now + (rows.size() == 0 ? due_lanes_interval : in_flight() > before ? 0ms : held_lanes_for);
  found_some_ = found_some_ || rows.size() > 0;
  return true;
}

// ---- sending

/// Returns how many of the first rows are on their way or set aside; nullopt: the lease has ended. Messages that follow
/// a stopped message are set aside, also if it is stopped in this batch.
std::optional<int> Sender::send(const inbox::OutboxRows& rows) {
  const std::int64_t end_of_sent = frontier();
  learn_topics(rows);
  const auto began = Clock::now();
  int done = 0;
  for (; done < rows.size(); ++done) {
    const auto now = Clock::now();
    if (now >= lease_end_) return std::nullopt;
    // Both take time, and the lease must be renewed.
    if (now - began > sending_timeout || aside_.size() >= max_set_aside) break;
    const inbox::OutboxRow row = rows.at(done);
    if (stream_.flight.contains(row.id) || trial_.flight.contains(row.id)) continue;
    if (row.lane && row.id > end_of_sent) continue;
    if (row.is_alone && !trial_.begin(now)) continue;
    if (row.is_behind || (!row.is_alone && is_stopped(row))) {
      aside_.push_back({row.id, Why::behind});
    } else if (!row.lane && refusals_.is_suspect(row.topic, row.bytes(), now)) {
      aside_.push_back({row.id, Why::suspect});
      stop_key(row);
    } else if (!send(row)) {
      next_read_ = Clock::now() + held_for;
      break;
    }
  }
  counts_.in_flight = static_cast<std::int64_t>(in_flight());
  if (!set_failures_aside()) return std::nullopt;
  return done;
}

void Sender::learn_topics(const inbox::OutboxRows& rows) {
  std::set<std::string_view> topics;
  for (int i = 0; i < rows.size(); ++i) {
    const inbox::OutboxRow row = rows.at(i);
    allowed_.look_up(row.topic);
    if (allowed_.contains(row.topic)) topics.insert(row.topic);
  }
  if (!topics.empty()) stream_.producer->learn(topics, question_timeout);
}

/// The main producer has sent all messages below. A lane's message above may have to wait for an earlier message of its
/// key.
std::int64_t Sender::frontier() const {
  if (const auto lowest = lowest_in_flight()) return *lowest;
  return is_caught_up_ ? std::numeric_limits<std::int64_t>::max() : highest_ + 1;
}

/// By a message of the same batch.
bool Sender::is_stopped(const inbox::OutboxRow& row) const {
  if (stopped_.empty()) return false;
  const std::string topic{row.topic};
  return stopped_.contains({topic, ""}) || (row.key && stopped_.contains({topic, "k" + std::string{*row.key}}));
}

/// Later messages of its key in this batch wait.
void Sender::stop_key(const inbox::OutboxRow& row) {
  if (row.key) stopped_.insert({std::string{row.topic}, "k" + std::string{*row.key}});
}

/// Without asking the producer, which would keep each message for seconds.
void Sender::refuse_topic(const inbox::OutboxRow& row, const kafka::OutgoingMessage& message) {
  stopped_.insert({std::string{row.topic}, ""});
  note_refused(row.id, Why::topic_refused, row.topic,
               allowed_.contains(row.topic) ? stream_.producer->refusal_of(message).error
                                            : "the topic is not in outbox.topics");
}

/// False: not now.
bool Sender::send(const inbox::OutboxRow& row) {
  kafka::OutgoingMessage message;
  message.id = row.id;
  message.topic = row.topic;
  message.key = row.key;
  message.payload = row.payload;
  // Its batch was refused, perhaps because of this machine's clock: the database's decides.
  if (row.is_alone) message.time = row.published_at / 1000;
  const auto readiness =
      allowed_.contains(row.topic) ? stream_.producer->readiness(message) : kafka::Readiness::missing;
  if (readiness == kafka::Readiness::missing) {
    refuse_topic(row, message);
    return true;
  }
  if (!row.is_alone && readiness != kafka::Readiness::ready) return false;
  // A dead letter has the identity of its event, and a second header `id` would hide it. In any other message such
  // headers were forwarded from another message.
  const bool is_dead_letter = event::find_packed(row.headers, dead_letter_header).has_value();
  for (const event::Header& header : event::unpack_headers(row.headers)) {
    const bool is_origin = header.name == event::origin_id_header || header.name == event::origin_topic_header ||
                           header.name == event::copy_digest_header;
    if (is_dead_letter || !is_origin) message.headers.emplace_back(std::string{header.name}, header.value);
  }
  const std::string id = row.message_id.text();
  message.headers.emplace_back(is_dead_letter ? dead_letter_id_header : settings_.id_header, id);
  Flight& flight = row.is_alone ? trial_.flight : stream_.flight;
  flight[row.id] = {row.bytes(), row.message_id, row.lane, Clock::now()};
  in_flight_bytes_ += row.bytes();
  if (row.lane) ++lanes_[*row.lane];
  const auto refused = (row.is_alone ? trial_.producer : stream_.producer)->send(message);
  if (!refused || refused->end == Delivery::End::failed) return true;
  const bool is_topics = refused->end == Delivery::End::topic_refused;
  is_topics ? void(stopped_.insert({std::string{row.topic}, ""})) : stop_key(row);
  note_refused(row.id, is_topics ? Why::topic_refused : Why::refused, row.topic, refused->error);
  return true;
}

}  // namespace inboxd::relay
