#include "relay/relay.hpp"

#include <algorithm>
#include <utility>

#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"
#include "inbox/outbox.hpp"

namespace inboxd::relay {
namespace {

using namespace std::chrono_literals;

/// How often an instance without the lease asks for it.
constexpr auto ask_interval = 1'000ms;
constexpr auto initial_backoff = 100ms;
constexpr auto max_backoff = 5'000ms;
/// How long a stop waits for messages in flight. Messages that are left are sent again by the next owner.
constexpr auto finish_timeout = 1'000ms;

/// A wait must not look like a stall.
constexpr auto beat_interval = 200ms;

/// Transactions that publish in quick succession share a read.
constexpr auto min_pause = 1ms;

}  // namespace

Relay::Relay(const config::Settings& settings, base::Uuid owner, inbox::Watchdog& watchdog, base::Logger& log)
    : settings_{settings.outbox},
      kafka_{settings.kafka},
      owner_{owner},
      log_{log},
      connection_{settings.database, "relay", watchdog, log} {
  connection_.prefer_indexes();
}

Relay::~Relay() {
  request_stop();
  join();
}

void Relay::start() {
  if (!settings_.relay) return;
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "relay");
}

void Relay::request_stop() {
  stopping_ = true;
  wake_.notify();
}

void Relay::join() {
  if (thread_.joinable()) thread_.join();
}

void Relay::run() {
  while (!stopping_) {
    heartbeat_.beat();
    auto next = ask_interval;
    const auto failure = inbox::failure_of([&] { next = serve(); });
    counts_.is_owner = false;
    if (failure) {
      if (repeats_.is_news(failure->sqlstate + failure->message)) {
        log_.warn("relay.database_failed", {{"fault", name_of(failure->fault)}, {"error", failure->message}});
      }
      backoff_ = next = std::clamp<std::chrono::milliseconds>(backoff_ * 2, initial_backoff, max_backoff);
    }
    wait(next);
  }
}

/// Not ended by a wake-up: publishing must not hasten retries.
void Relay::wait(std::chrono::milliseconds time) {
  const auto end = Clock::now() + time;
  while (!stopping_ && Clock::now() < end) {
    heartbeat_.beat();
    wake_.wait_until(std::min(end, Clock::now() + beat_interval));
  }
}

std::unique_ptr<kafka::Producer> Relay::make_producer(bool one_by_one) {
  kafka::ProducerSettings settings;
  settings.brokers = kafka_.brokers;
  settings.properties = kafka_.properties_now();
  settings.properties_now = [this] { return kafka_.properties_now(); };
  settings.batch_bytes = refusals_.batch_bytes(Clock::now());
  settings.one_by_one = one_by_one;
  settings.on_problem = [this](std::string_view text) {
    if (repeats_.is_news(std::string{text})) log_.warn("relay.client_error", {{"error", text}});
  };
  settings.log = [this](int level, std::string_view text) {
    log_.debug("relay.client_log", {{"syslog_level", level}, {"text", text}});
  };
  auto made = kafka::Producer::make(std::move(settings));
  if (made) return std::move(made).value();
  if (repeats_.is_news(made.problem().message)) log_.error("relay.no_producer", {{"error", made.problem().message}});
  return nullptr;
}

std::chrono::milliseconds Relay::serve() {
  const inbox::RelayLease lease{owner_, base::random_fence()};
  const auto now = Clock::now();
  const auto low_water = inbox::take_relay(connection_, lease, settings_.lease, settings_.message_bytes);
  if (!low_water) return ask_interval;
  auto producer = make_producer(false);
  if (producer == nullptr) {
    inbox::release_relay(connection_, lease, *low_water);
    return max_backoff;
  }
  if (!counts_.is_owner.exchange(true)) log_.info("relay.took_over", {{"low_water", *low_water}});
  const auto make_trial = [this] { return make_producer(true); };
  Sender sender{settings_,  lease,     *low_water, now,      connection_, std::move(producer),
                make_trial, refusals_, counts_,    stopped_messages_, log_};
  send_under(sender);
  return backoff_;
}

void Relay::send_under(Sender& sender) {
  // A longer wait would delay the renewal of the lease.
  const auto longest = std::min<Clock::duration>(settings_.poll_idle, settings_.lease / 6);
  Clock::duration pause = settings_.poll;
  auto next_read = Clock::now();
  while (!stopping_) {
    heartbeat_.beat();
    const auto now = Clock::now();
    if (is_awake_.exchange(false)) next_read = std::min(next_read, now + min_pause);
    const bool reads = now >= next_read && sender.has_room();
    const auto state = sender.turn(reads);
    if (state != Sender::State::busy && state != Sender::State::waiting) return end(sender, state);
    backoff_ = 0ms;
    if (reads) {
      pause = state == Sender::State::busy ? settings_.poll : std::min(pause * 2, longest);
      next_read = Clock::now() + (state == Sender::State::busy ? Clock::duration{min_pause} : pause);
    }
    if (sender.has_due_lanes()) next_read = std::min(next_read, Clock::now() + min_pause);
    if (!sender.has_in_flight()) wake_.wait_until(next_read);
  }
  sender.finish(finish_timeout);
  log_.info("relay.released");
}

void Relay::end(const Sender& sender, Sender::State state) {
  if (state == Sender::State::lost) {
    if (!sender.has_lost_commits()) log_.warn("relay.lease_lost");
    return;
  }
  if (state == Sender::State::resized || sender.has_refused()) {
    backoff_ = 0ms;
  } else {
    backoff_ = std::clamp<std::chrono::milliseconds>(backoff_ * 2, initial_backoff, max_backoff);
  }
  ++counts_.replacements;
  if (state == Sender::State::resized) {
    log_.info("relay.smaller_batches", {{"bytes", refusals_.batch_bytes(Clock::now())}});
  } else {
    log_.warn("relay.producer_failed", {{"error", sender.failure()}});
  }
}

}  // namespace inboxd::relay
