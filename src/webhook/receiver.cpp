#include "webhook/receiver.hpp"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "inbox/answer.hpp"
#include "inbox/received_events.hpp"

namespace inboxd::webhook {
namespace {

using namespace std::chrono_literals;

/// A wait must not look like a stall.
constexpr auto beat_interval = 200ms;
constexpr const char* again_after_s = "1";

config::Database database_for(const config::Settings& settings) {
  config::Database out = settings.database;
  out.deadline = std::min(out.deadline, settings.ingest.http.answer_timeout);
  return out;
}

}  // namespace

Receiver::Receiver(const config::Settings& settings, const inbox::LedgerFilters& filters, inbox::Watchdog& watchdog,
                   base::Logger& log, Answer answer)
    : settings_{settings},
      filters_{filters},
      log_{log},
      answer_{std::move(answer)},
      connection_{database_for(settings), "webhooks", watchdog, log} {}

Receiver::~Receiver() {
  request_stop();
  join();
}

void Receiver::start() {
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "webhooks");
}

void Receiver::request_stop() {
  {
    const base::Lock lock{mutex_};
    stopping_ = true;
  }
  changed_.notify_one();
}

void Receiver::join() {
  if (thread_.joinable()) thread_.join();
}

bool Receiver::has_room(const std::string& topic, std::size_t bytes, bool is_shared) const {
  const auto& limits = settings_.ingest.http;
  const auto fits = [&](const Load& load, std::size_t parts) {
    const auto max_requests = static_cast<std::size_t>(limits.waiting_requests) / parts;
    return load.requests < std::max(max_requests, std::size_t{1}) &&
           (load.bytes == 0 || load.bytes + bytes <= limits.waiting_bytes / parts);
  };
  const base::Lock lock{mutex_};
  if (!fits(load_, 1)) return false;
  const auto own = by_topic_.find(topic);
  return !is_shared || own == by_topic_.end() || fits(own->second, 2);
}

std::int64_t Receiver::waiting() const {
  const base::Lock lock{mutex_};
  return static_cast<std::int64_t>(load_.requests);
}

void Receiver::add(std::shared_ptr<Posted> posted, admin::Ticket ticket) {
  {
    const base::Lock lock{mutex_};
    for (Load* const load : {&load_, &by_topic_[posted->topic]}) {
      load->requests += 1;
      load->bytes += posted->request.body.size();
    }
    queue_.push_back({std::move(posted), std::move(ticket)});
  }
  changed_.notify_one();
}

/// The request waits no longer.
void Receiver::release(const Posted& posted) {
  const base::Lock lock{mutex_};
  const auto own = by_topic_.find(posted.topic);
  for (Load* const load : {&load_, &own->second}) {
    load->requests -= 1;
    load->bytes -= posted.request.body.size();
  }
  if (own->second.requests == 0) by_topic_.erase(own);
}

void Receiver::run() {
  look_for_database();
  for (;;) {
    heartbeat_.beat();
    {
      base::Lock lock{mutex_};
      changed_.wait_for(lock, beat_interval, [this]() REQUIRES(mutex_) { return stopping_ || !queue_.empty(); });
      if (stopping_ && queue_.empty()) break;
    }
    if (const Round round = take(); !round.empty()) store(round);
    if (is_away_) look_for_database();
  }
  is_away_ = true;
}

void Receiver::look_for_database() {
  is_away_ = inbox::failure_of([&] { connection_.open(); }).has_value();
}

/// The oldest requests, within the limits of a transaction. Of requests with a common id a single one: the next round
/// finds its events.
Receiver::Round Receiver::take() {
  const auto& limits = settings_.ingest;
  Round out;
  std::set<base::Uuid> ids;
  std::size_t bytes = 0;
  const base::Lock lock{mutex_};
  std::deque<Waiting> left;
  while (!queue_.empty()) {
    Waiting& next = queue_.front();
    const Posted& posted = *next.posted;
    const std::size_t events = ids.size() + posted.events.size();
    const bool fits = events <= static_cast<std::size_t>(limits.batch_events) &&
                      bytes + posted.request.body.size() <= limits.batch_bytes;
    if (!out.empty() && !fits) break;
    const bool is_known =
        std::ranges::any_of(posted.events, [&](const auto& each) { return ids.contains(each.event_id); });
    if (is_known) {
      left.push_back(std::move(next));
    } else {
      for (const event::Event& each : posted.events) ids.insert(each.event_id);
      bytes += posted.request.body.size();
      out.push_back(std::move(next));
    }
    queue_.pop_front();
  }
  std::ranges::move(left.rbegin(), left.rend(), std::front_inserter(queue_));
  return out;
}

void Receiver::store(const Round& round) {
  std::vector<inbox::ReceivedEvent> events;
  for (std::size_t i = 0; i < round.size(); ++i) {
    const Posted& posted = *round[i].posted;
    for (const event::Event& each : posted.events) {
      events.push_back({static_cast<std::int32_t>(i), posted.topic, &each, posted.id_decides});
    }
  }
  std::vector<inbox::Receipt> receipts;
  const auto failure = inbox::failure_of([&] {
    if (!events.empty()) receipts = inbox::receive(connection_, filters_, events);
  });
  if (failure && failure->fault == inbox::Fault::poison && round.size() > 1) {
    for (const Waiting& each : round) store({each});  // the other requests are stored
    return;
  }
  if (failure) return fail(round, *failure);
  const inbox::Receipt* next = receipts.data();
  answer(round, [&](const Posted& posted) {
    return answer_to(posted, std::exchange(next, next + posted.events.size()));
  });
}

void Receiver::fail(const Round& round, const inbox::DatabaseFailure& failure) {
  if (repeats_.is_news(failure.sqlstate + failure.message)) {
    log_.warn("webhook.database_failed", {{"fault", name_of(failure.fault)}, {"error", failure.message}});
  }
  const bool is_poison = failure.fault == inbox::Fault::poison;
  if (failure.fault != inbox::Fault::retry && !is_poison) is_away_ = true;
  answer(round, [&](const Posted&) {
    if (is_poison) return admin::refusal(500, "the database refuses the event; see the daemon's log");
    return unavailable("the database does not answer, and the events may not be stored; send them again");
  });
}

void Receiver::answer(const Round& round, const std::function<admin::HttpResponse(const Posted&)>& response_to) {
  admin::HttpServer::Answers answers;
  for (const Waiting& each : round) {
    answers.emplace_back(each.ticket, response_to(*each.posted));
    release(*each.posted);
  }
  answer_(std::move(answers));
}

admin::HttpResponse unavailable(const std::string& message) {
  admin::HttpResponse out = admin::refusal(503, message);
  out.headers.emplace_back("Retry-After", again_after_s);
  return out;
}

}  // namespace inboxd::webhook
