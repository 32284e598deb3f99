#include "sender.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace http_handler {
namespace {

/// Between two looks at the calls: whether the daemon stops.
constexpr std::chrono::milliseconds look_interval{50};
constexpr std::chrono::minutes doubt_log_interval{1};
constexpr std::size_t max_spare = 256;
/// Idle connections get at most this part of the process's descriptors; the daemon's own sessions need the rest.
constexpr long idle_part = 4;

long max_idle_connections() {
  const long descriptors = sysconf(_SC_OPEN_MAX);
  return descriptors < 0 ? std::numeric_limits<int>::max() : descriptors / idle_part;
}

}  // namespace

Sender::Sender(const Target& target, inboxd::Log log)
    : target_{target}, log_{log}, multi_{curl_multi_init(), curl_multi_cleanup}, health_{target.health, log} {
  if (multi_ == nullptr) throw std::bad_alloc{};
  keep_connections(1);
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "http");
}

Sender::~Sender() {
  new_calls_.stop([&] { curl_multi_wakeup(multi_.get()); });
  thread_.join();
  if (health_request_) curl_multi_remove_handle(multi_.get(), health_request_->handle());
}

void Sender::send(std::unique_ptr<inboxd::OpenCall> call) {
  new_calls_.add(std::move(call), [&] { curl_multi_wakeup(multi_.get()); });
}

void Sender::run() {
  while (take_on()) {
    int still = 0;
    curl_multi_perform(multi_.get(), &still);
    end_finished();
    const auto now = Clock::now();
    if (now >= next_look_) {
      next_look_ = now + look_interval;
      end_cancelled();
    }
    look_after_health();
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(look_interval.count()), nullptr);
  }
}

/// New calls; false: the handler ends.
bool Sender::take_on() {
  auto calls = new_calls_.take();
  if (!calls) return false;
  for (auto& call : *calls) begin(std::move(call));
  return true;
}

void Sender::begin(std::unique_ptr<inboxd::OpenCall> call) {
  auto exchange = std::make_unique<Exchange>(target_, std::move(call), resets_);
  if (!health_.is_healthy()) return exchange->give_up(health_.unhealthy(Clock::now()));
  Running running{nullptr, std::move(exchange)};
  go_on(std::move(running));
}

std::unique_ptr<Request> Sender::spare_request() {
  if (spare_.empty()) return std::make_unique<Request>(target_);
  auto out = std::move(spare_.back());
  spare_.pop_back();
  return out;
}

/// Keeps as many connections open as there were requests at once.
void Sender::keep_connections(std::size_t requests) {
  if (requests <= max_requests_) return;
  max_requests_ = requests;
  const long kept = std::min(static_cast<long>(requests), max_idle_connections());
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, kept);
}

/// The call's next request; if there is none, the call ends.
void Sender::go_on(Running running) {
  try {
    auto next = running.exchange->next();
    if (!next) return forget(running);
    if (!running.request) running.request = spare_request();
    running.request->set(next->url, std::move(next->message), running.exchange->time_left());
  } catch (const std::exception& thrown) {
    running.exchange->give_up(inboxd::retry(thrown.what(), "exception"));
    return;
  }
  Request* const key = running.request.get();
  running_.emplace(key, std::move(running));
  keep_connections(running_.size());
  curl_multi_add_handle(multi_.get(), key->handle());
}

void Sender::forget(Running& running) {
  running.exchange.reset();
  if (running.request && spare_.size() < max_spare) spare_.push_back(std::move(running.request));
}

void Sender::end_finished() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    CURL* const handle = message->easy_handle;
    void* request = nullptr;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &request);
    curl_multi_remove_handle(multi_.get(), handle);
    if (request == health_request_.get()) {
      health_.ended(health_request_->take_answer(code), Clock::now());
      health_request_.reset();
      continue;
    }
    auto running = running_.extract(static_cast<Request*>(request));
    const Answer answer = running.mapped().request->take_answer(code);
    note(running.mapped().exchange->ended(answer, resets_));
    note_doubt(answer);
    go_on(std::move(running.mapped()));
  }
}

/// Says once that the service is away, and that it is back.
void Sender::note(const inboxd::Outcome& outcome) {
  if (outcome.kind != INBOXD_AWAY) {
    if (away_.ends()) log_.info("the service answers again");
  } else if (away_.begins()) {
    log_.warn("the service is away, its events wait uncharged: " + outcome.error_class + ": " + outcome.message);
  }
}

void Sender::note_doubt(const Answer& answer) {
  const auto now = Clock::now();
  if (now < next_doubt_log_) return;
  const auto doubt = doubt_about(target_, answer);
  if (!doubt) return;
  next_doubt_log_ = now + doubt_log_interval;
  log_.warn(*doubt);
}

/// Calls that are cancelled end without verdicts, uncharged.
void Sender::end_cancelled() {
  for (auto each = running_.begin(); each != running_.end();) {
    if (!each->second.exchange->is_cancelled()) {
      ++each;
      continue;
    }
    curl_multi_remove_handle(multi_.get(), each->first->handle());
    each = running_.erase(each);
  }
}

void Sender::look_after_health() {
  if (health_request_ || !health_.is_due(Clock::now())) return;
  health_request_ = std::make_unique<Request>(target_);
  health_request_->set_get(target_.health.url, target_.health.timeout);
  curl_multi_add_handle(multi_.get(), health_request_->handle());
}

}  // namespace http_handler
