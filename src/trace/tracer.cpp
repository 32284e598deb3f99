#include "trace/tracer.hpp"

#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/backoff.hpp"
#include "base/http_exchange.hpp"
#include "base/mutex.hpp"

namespace inboxd::trace {
namespace {

constexpr std::string_view scheme = "http://";
constexpr std::string_view usual_target = "/v1/traces";
constexpr std::size_t largest_answer = 1 << 20;

/// The rejected part of a request: `{"partialSuccess":{"rejectedSpans":"3"}}`. At most the request's size.
std::size_t refused_in(std::string_view answer, std::size_t load) {
  constexpr std::string_view name = "\"rejectedSpans\"";
  const auto at = answer.find(name);
  if (at == answer.npos) return 0;
  const auto digits = answer.find_first_not_of(" \t\r\n:\"", at + name.size());
  std::uint64_t count = 0;
  if (digits == answer.npos) return 0;
  const auto read = std::from_chars(answer.data() + digits, answer.data() + answer.size(), count);
  if (read.ec == std::errc::result_out_of_range) return load;
  return read.ec == std::errc{} ? static_cast<std::size_t>(std::min<std::uint64_t>(count, load)) : 0;
}

/// Statuses that OTLP calls retryable.
bool is_passing(int status) { return status == 429 || status == 502 || status == 503 || status == 504; }

}  // namespace

Tracer::Tracer(const config::Tracing& settings, const base::Uuid& instance, base::Logger& log, Pace pace)
    : settings_{settings}, resource_{settings.service, instance.text(), INBOXD_VERSION}, pace_{pace}, log_{log} {
  if (settings.is_off()) return;
  const std::string& endpoint = settings.endpoint;
  const auto slash = endpoint.find('/', std::min(scheme.size(), endpoint.size()));
  place_ = endpoint.substr(scheme.size(), slash - scheme.size());
  const bool has_target = slash != std::string::npos && slash + 1 < endpoint.size();
  url_ = has_target ? endpoint : endpoint.substr(0, slash) + std::string{usual_target};
}

Tracer::~Tracer() {
  request_stop();
  join();
}

void Tracer::start() {
  if (settings_.is_off() || thread_.joinable()) return;
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "tracer");
}

void Tracer::end_by(std::chrono::steady_clock::time_point end) {
  const base::Lock lock{mutex_};
  end_ = std::min(end_, end);
}

void Tracer::request_stop() {
  {
    const base::Lock lock{mutex_};
    if (!stopping_) end_ = std::min(end_, std::chrono::steady_clock::now() + pace_.timeout);
    stopping_ = true;
  }
  changed_.notify_all();
}

void Tracer::join() {
  if (thread_.joinable()) thread_.join();
}

std::size_t Tracer::free_places() const {
  const auto most = static_cast<std::size_t>(settings_.queue);
  return most - std::min(queue_.size(), most);
}

std::size_t Tracer::room(std::size_t wanted) {
  if (wanted == 0) return 0;
  std::size_t places = 0;
  {
    const base::Lock lock{mutex_};
    places = std::min(free_places(), wanted);
  }
  counts_.dropped += wanted - places;
  return places;
}

void Tracer::add(std::vector<Span> spans) {
  if (spans.empty()) return;
  bool is_enough = false;
  {
    const base::Lock lock{mutex_};
    const std::size_t taken = std::min(free_places(), spans.size());
    std::move(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(taken), std::back_inserter(queue_));
    counts_.dropped += spans.size() - taken;
    is_enough = queue_.size() >= pace_.load;
  }
  if (is_enough) changed_.notify_all();
}

void Tracer::run() {
  while (true) {
    const auto load = next_load();
    if (load.empty()) return;
    send_until_taken(load);
  }
}

/// Waits for spans; empty: stopped, and none are left.
std::vector<Span> Tracer::next_load() {
  base::Lock lock{mutex_};
  while (true) {
    changed_.wait_for(lock, pace_.gather, [&]() REQUIRES(mutex_) { return stopping_ || queue_.size() >= pace_.load; });
    if (!queue_.empty() || stopping_) break;
  }
  const auto count = static_cast<std::ptrdiff_t>(std::min(queue_.size(), pace_.load));
  std::vector<Span> out{std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.begin() + count)};
  queue_.erase(queue_.begin(), queue_.begin() + count);
  return out;
}

bool Tracer::wait(std::chrono::milliseconds time) {
  base::Lock lock{mutex_};
  return !changed_.wait_for(lock, time, [&]() REQUIRES(mutex_) { return stopping_; });
}

void Tracer::send_until_taken(const std::vector<Span>& load) {
  base::Backoff backoff{pace_.initial_wait, pace_.max_wait};
  while (true) {
    const Sent sent = send(load);
    if (sent.how != How::later) {
      counts_.exported += load.size() - sent.refused;
      counts_.refused += sent.refused;
      return;
    }
    if (!wait(backoff.next())) break;
  }
  // Stopping, and the collector takes nothing: the rest is dropped.
  const base::Lock lock{mutex_};
  counts_.dropped += load.size() + queue_.size();
  queue_.clear();
}

std::chrono::steady_clock::time_point Tracer::end_of_request() {
  const auto usual = std::chrono::steady_clock::now() + pace_.timeout;
  const base::Lock lock{mutex_};
  return std::min(usual, end_);
}

Tracer::Sent Tracer::send(const std::vector<Span>& load) {
  base::HttpQuestion question{url_, end_of_request(), {"Content-Type: application/json"}, otlp_json(resource_, load)};
  question.max_answer = largest_answer;
  if (!settings_.authorization.empty()) question.headers.push_back("Authorization: " + settings_.authorization.now());
  const base::HttpReply reply = base::exchange(question);
  // A 2xx status counts, even if the answer never ends.
  Sent out;
  if (reply.status >= 200 && reply.status < 300) {
    out = {How::taken, refused_in(reply.body, load.size())};
  } else if (reply.status > 0 && !is_passing(reply.status)) {
    out = {How::never, load.size()};
  }
  note(out, out.how == How::taken ? "it took a part of them"
            : reply.status > 0    ? "status " + std::to_string(reply.status)
                                  : reply.problem);
  return out;
}

/// Logs a line when exporting starts to fail, and a line when it works again.
void Tracer::note(const Sent& sent, const std::string& problem) {
  const bool fails = sent.how == How::later || sent.refused > 0;
  if (fails && !is_failing_) {
    log_.warn(sent.how == How::later ? "trace.collector_unreachable" : "trace.spans_refused",
              {{"collector", place_}, {"reason", problem}});
  } else if (!fails && is_failing_) {
    log_.info("trace.collector_recovered", {{"dropped", counts_.dropped.load()}});
  }
  is_failing_ = fails;
}

}  // namespace inboxd::trace
