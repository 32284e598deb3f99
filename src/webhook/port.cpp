#include "webhook/port.hpp"

#include <ctime>
#include <utility>

#include "admin/listener.hpp"
#include "admin/tls.hpp"
#include "base/text.hpp"
#include "webhook/gate.hpp"

namespace inboxd::webhook {
namespace {

using admin::HttpRequest;
using admin::HttpResponse;

admin::HttpServer::Limits limits_of(const config::IngestHttp& settings) {
  admin::HttpServer::Limits out;
  out.request.header_bytes = settings.header_limit;
  out.request.body_bytes = settings.body_limit;
  out.request.keys = "ingest.http";
  out.connections = static_cast<std::size_t>(settings.connections);
  out.receive = settings.receive_timeout;
  out.answer = settings.answer_timeout;
  out.idle = settings.idle_timeout;
  out.thread = "webhook port";
  out.gives_way = false;
  out.may_repeat = true;
  return out;
}

/// The topic of `/v1/topics/TOPIC/events`; empty: another path.
std::string_view topic_in(std::string_view path) {
  constexpr std::string_view begin = "/v1/topics/", end = "/events";
  if (path.size() <= begin.size() + end.size() || !path.starts_with(begin) || !path.ends_with(end)) return {};
  return path.substr(begin.size(), path.size() - begin.size() - end.size());
}

HttpResponse busy() {
  HttpResponse out = admin::refusal(429, "too many requests are waiting (ingest.http.waiting_requests, "
                                         "ingest.http.waiting_bytes; each of several topics may use half); send this "
                                         "one again later");
  out.headers.emplace_back("Retry-After", "1");
  return out;
}

/// For metrics.
std::string outcome_of(const HttpResponse& response) {
  if (!response.outcome.empty()) return response.outcome;
  switch (response.status) {
    case 200:
    case 202:
      return "accepted";
    case 401:
      return "unauthorised";
    case 403:
      return "forbidden";
    case 404:
      return "unknown_topic";
    case 409:
      return "conflict";
    case 413:
      return "too_large";
    case 415:
      return "unsupported";
    case 429:
      return "busy";
    case 500:
    case 503:
      return "unavailable";
    default:
      return "invalid";
  }
}

}  // namespace

Port::Port(const config::Settings& settings, const inbox::LedgerFilters& filters, inbox::Watchdog& watchdog,
           base::Logger& log)
    : settings_{settings},
      log_{log},
      endpoints_{std::make_shared<const Endpoints>(endpoints_of(settings))},
      receiver_{settings, filters, watchdog, log,
                [this](admin::HttpServer::Answers answers) { server_.finish(std::move(answers)); }},
      server_{limits_of(settings.ingest.http),
              {},
              [this](HttpRequest& request) { return respond(request); },
              log,
              [this](const admin::HttpServer::Answer& answer) { note(answer); }} {}

Port::~Port() {
  request_stop();
  join();
}

std::optional<admin::ListenProblem> Port::start() {
  if (!is_on()) return std::nullopt;
  auto found = admin::listen_on(settings_.ingest.listen);
  if (auto* const problem = std::get_if<admin::ListenProblem>(&found)) {
    problem->message += "; change ingest.listen, or set it to off";
    return *problem;
  }
  std::unique_ptr<admin::Tls> tls;
  if (!settings_.ingest.tls.is_off()) {
    tls = std::make_unique<admin::Tls>(settings_.ingest.tls, "ingest.tls", log_);
    if (const auto problem = tls->open()) {
      return admin::ListenProblem{problem->message + "; correct the file, or remove ingest.tls"};
    }
  }
  log_.info("webhook.listening", {{"address", settings_.ingest.listen}, {"tls", tls != nullptr}});
  receiver_.start();
  server_.start(std::get<std::vector<admin::Listener>>(std::move(found)), std::move(tls));
  return std::nullopt;
}

void Port::request_stop() { receiver_.request_stop(); }

void Port::join() {
  receiver_.join();
  server_.request_stop();
  server_.join();
}

void Port::set_topics(const config::Settings& settings) {
  auto next = std::make_shared<const Endpoints>(endpoints_of(settings));
  const base::Lock lock{mutex_};
  endpoints_ = std::move(next);
}

std::shared_ptr<const Endpoints> Port::endpoints() const {
  const base::Lock lock{mutex_};
  return endpoints_;
}

Port::Outcome Port::respond(HttpRequest& request) {
  const auto all = endpoints();
  const auto found = all->find(topic_in(request.path));
  if (found == all->end()) {
    return admin::refusal(404, "no such path; events are posted to /v1/topics/TOPIC/events, and TOPIC needs "
                               "topics[].http in the configuration");
  }
  const auto& [topic, endpoint] = *found;
  if (request.method != "POST") {
    HttpResponse out = admin::refusal(405, "method not allowed; use POST");
    out.headers.emplace_back("Allow", "POST");
    return out;
  }
  if (auto refused = refuse_sender(*all, endpoint, request, std::time(nullptr))) return *std::move(refused);
  return take(endpoint, topic, all->size() > 1, request);
}

/// The request of a sender that may post. `is_shared`: see Receiver::has_room.
Port::Outcome Port::take(const Endpoint& endpoint, const std::string& topic, bool is_shared, HttpRequest& request) {
  if (receiver_.is_away()) {
    return unavailable("events cannot be stored at present: the database does not answer, or the daemon stops; send "
                       "them again later");
  }
  if (!receiver_.has_room(topic, request.body.size(), is_shared)) return busy();
  const auto posted = std::make_shared<Posted>(std::move(request), topic);
  const auto max_events = static_cast<std::size_t>(settings_.ingest.http.batch_events);
  if (auto refused = read_events(endpoint, max_events, *posted)) return *std::move(refused);
  return admin::LaterWork{[this, posted](admin::Ticket ticket) { receiver_.add(posted, std::move(ticket)); }};
}

/// Counts the answer that is sent. After answer_timeout the receiver's answer is not sent.
void Port::note(const admin::HttpServer::Answer& answer) {
  const auto all = endpoints();
  const auto found = all->find(topic_in(answer.path));
  const std::string topic = found == all->end() ? "" : found->first;
  counts_.add(topic, answer.response == nullptr ? "unanswered" : outcome_of(*answer.response));
  if (answer.response == nullptr || answer.response->status < 400) return;
  const std::string status = std::to_string(answer.response->status);
  if (repeats_.is_news(topic + " " + status)) {
    log_.warn("webhook.refused", {{"topic", topic},
                                  {"status", status},
                                  {"client", answer.peer.name},
                                  {"bytes", answer.body_bytes},
                                  {"event_id", answer.response->event_id}});
  }
}

}  // namespace inboxd::webhook
