#include "consumer/local_source.hpp"

#include <algorithm>

#include "inbox/answer.hpp"
#include "inbox/database_error.hpp"
#include "inbox/local_events.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

/// How often an instance without the lease asks for it.
constexpr auto ask_interval = 1'000ms;
constexpr auto min_retry_wait = 100ms;
constexpr auto max_retry_wait = 5'000ms;
/// Between two searches for events below the low-water mark.
constexpr auto low_water_interval = 60s;
/// A wait must not look like a stall.
constexpr auto beat_interval = 200ms;

}  // namespace

LocalSource::LocalSource(const config::Settings& settings, const base::Uuid& owner, inbox::Registrations& registrations,
                         HandOff& hand_off, IngestCounts& counts, PartitionStatus& status, inbox::Watchdog& watchdog,
                         base::Logger& log, trace::Tracer* tracer)
    : settings_{settings},
      owner_{owner},
      hand_off_{hand_off},
      status_{status},
      log_{log},
      tracer_{tracer},
      connection_{settings.database, "local reader", watchdog, log},
      writer_{settings, owner, connection_, registrations, hand_off, counts, log} {
  connection_.prefer_indexes();
}

LocalSource::~LocalSource() {
  request_stop();
  join();
}

void LocalSource::start() {
  is_running_ = true;
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "local reader");
}

void LocalSource::request_stop() {
  stopping_ = true;
  wake_.notify();
}

void LocalSource::join() {
  if (thread_.joinable()) thread_.join();
}

void LocalSource::run() {
  while (!stopping_) {
    heartbeat_.beat();
    std::chrono::milliseconds next = ask_interval;
    const auto failure = inbox::failure_of([&] { next = serve(); });
    if (failure) {
      if (repeats_.is_news(failure->sqlstate + failure->message)) {
        log_.warn("consumer.local_failed", {{"fault", name_of(failure->fault)}, {"error", failure->message}});
      }
      backoff_ = next = std::clamp<std::chrono::milliseconds>(backoff_ * 2, min_retry_wait, max_retry_wait);
    }
    wait(Clock::now() + next);
  }
  forget_all();
}

std::chrono::milliseconds LocalSource::serve() {
  const inbox::LocalLease lease{owner_, base::random_fence()};
  const auto now = Clock::now();
  const auto low_water = inbox::take_local(connection_, lease, settings_.local.lease);
  if (!low_water) {
    forget_all();
    return ask_interval;
  }
  if (assigned_.empty()) log_.info("consumer.local_taken", {{"low_water", *low_water}});
  const auto give_up = [this] {
    heartbeat_.beat();
    return stopping_.load();
  };
  LocalReader reader{{settings_, connection_, writer_, hand_off_, status_, log_, tracer_, give_up}, *low_water,
                     assigned_};
  backoff_ = 0ms;
  return serve_under(lease, reader, now);
}

/// Until a stop, or until the reader's positions and numbers are in doubt.
std::chrono::milliseconds LocalSource::serve_under(const inbox::LocalLease& lease, LocalReader& reader,
                                                   Clock::time_point taken_at) {
  const auto length = settings_.local.lease;
  // A longer wait would delay the renewal of the lease.
  const auto poll = std::min(settings_.local.poll, length / 6);
  const int generation = connection_.generation();
  auto next_renewal = taken_at + length / 3;
  auto next_check = taken_at + low_water_interval;
  while (!stopping_) {
    heartbeat_.beat();
    const auto now = Clock::now();
    if (now >= next_renewal) {
      const bool checks = now >= next_check;
      const auto renewal = inbox::renew_local(connection_, lease, length, reader.low_water(), checks);
      if (renewal == inbox::Renewal::lost) log_.warn("consumer.local_lease_lost");
      if (renewal == inbox::Renewal::behind) log_.error("consumer.position_rolled_back");
      if (renewal != inbox::Renewal::done) return 0ms;
      next_renewal = now + length / 3;
      if (checks) next_check = now + low_water_interval;
    }
    const auto found = reader.read(now);
    // Another session may be on another server, where numbers below the highest may be drawn again.
    if (found == LocalReader::Found::doubted || connection_.generation() != generation) return min_retry_wait;
    reader.observe(owner_, Clock::now());
    if (found != LocalReader::Found::full) wait(now + poll);
  }
  inbox::release_local(connection_, lease, reader.low_water());
  return 0ms;
}

/// Another instance reads, or none.
void LocalSource::forget_all() {
  for (const auto& [shard_id, partition] : assigned_) {
    hand_off_.revoked(shard_id);
    status_.revoked(partition);
  }
  assigned_.clear();
}

void LocalSource::wait(Clock::time_point until) {
  while (!stopping_ && Clock::now() < until) {
    heartbeat_.beat();
    wake_.wait_until(std::min(until, Clock::now() + beat_interval));
  }
}

}  // namespace inboxd::consumer
