#include "testing/answer_server.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "testing/sample_bytes.hpp"

namespace inboxd::testing {
namespace {

admin::HttpServer::Limits limits() {
  admin::HttpServer::Limits out;
  out.request.body_bytes = max_sample_bytes;
  return out;
}

int port_of(const admin::Listener& listener) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

}  // namespace

AnswerServer::AnswerServer(base::Logger& log)
    : server_{limits(), {"answers"}, [this](const admin::HttpRequest& request) { return answer(request); }, log} {}

AnswerServer::~AnswerServer() {
  server_.request_stop();
  server_.join();
}

std::optional<base::Problem> AnswerServer::start() {
  auto listeners = admin::listen_on("127.0.0.1:0");
  if (const auto* const problem = std::get_if<admin::ListenProblem>(&listeners)) return base::Problem{problem->message};
  auto& opened = std::get<std::vector<admin::Listener>>(listeners);
  address_ = "http://127.0.0.1:" + std::to_string(port_of(opened.front()));
  server_.start(std::move(opened));
  return std::nullopt;
}

std::string AnswerServer::url_for(const std::string& handler, const std::string& real) const {
  const auto scheme = real.find("://");
  const auto path = scheme == std::string::npos ? scheme : real.find_first_of("/?", scheme + 3);
  const std::string rest = path == std::string::npos ? "" : real.substr(path);
  return address_ + "/" + handler + (rest.starts_with('/') ? "" : "/") + rest;
}

void AnswerServer::set(std::map<std::string, std::vector<RecordedAnswer>> answers) {
  const base::Lock lock{mutex_};
  answers_ = std::move(answers);
  requests_.clear();
}

Requests AnswerServer::requests() const {
  const base::Lock lock{mutex_};
  return requests_;
}

admin::HttpResponse AnswerServer::answer(const admin::HttpRequest& request) {
  const std::string path = request.path.substr(std::min<std::size_t>(1, request.path.size()));
  const auto slash = std::min(path.find('/'), path.size());
  const std::string handler = path.substr(0, slash);
  admin::HttpRequest kept = request;
  kept.path = path.substr(slash);
  const base::Lock lock{mutex_};
  auto& of_handler = requests_[handler];
  const auto given = answers_.find(handler);
  const std::size_t number = of_handler.size();
  of_handler.push_back(std::move(kept));
  if (given == answers_.end() || given->second.empty()) return {204, ""};
  const RecordedAnswer& out = given->second[std::min(number, given->second.size() - 1)];
  return {out.status, out.body, "application/json", out.headers};
}

}  // namespace inboxd::testing
