#include "operations/check_service.hpp"

#include "base/http_exchange.hpp"

namespace inboxd::operations {

std::optional<Service> service_of(const std::string& url) {
  const bool is_https = url.starts_with("https://");
  if (!is_https && !url.starts_with("http://")) return std::nullopt;
  const std::size_t begin = url.find("//") + 2;
  const std::string authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  // The handler refuses placeholders here, and users: a finding must not print their password.
  if (authority.empty() || authority.find_first_of("@{") != std::string::npos) return std::nullopt;
  const auto bracket = authority.find(']');
  const auto colon = authority.find(':', bracket == std::string::npos ? 0 : bracket);
  std::string host = authority.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string usual_port = is_https ? "443" : "80";
  return Service{host, colon == std::string::npos ? usual_port : authority.substr(colon + 1)};
}

FoundList check_services(const config::Settings& settings, std::chrono::milliseconds patience) {
  FoundList out;
  for (const config::Handler& handler : settings.handlers) {
    const auto url = handler.settings.find("url");
    if (handler.plugin != "http" || url == handler.settings.end()) continue;
    const auto path = handler.settings.find("unix_socket");
    const auto service = service_of(url->second);
    if (!service) continue;
    const bool is_path = path != handler.settings.end();
    const std::string host = service->host.find(':') == std::string::npos ? service->host : "[" + service->host + "]";
    const std::string address = is_path ? path->second : host + ":" + service->port;
    base::HttpQuestion question{"http://" + host + ":" + service->port, std::chrono::steady_clock::now() + patience};
    if (is_path) question.unix_socket = path->second;
    question.connects_only = true;
    const std::string problem = base::exchange(question).problem;
    if (problem.empty()) {
      out.push_back({Finding::Kind::good, "handler " + handler.name, address + " accepts connections"});
    } else {
      out.push_back({Finding::Kind::warning, "handler " + handler.name,
                     address + ": " + problem +
                         "; start the service, or correct settings.url: events wait until it answers"});
    }
  }
  return out;
}

}  // namespace inboxd::operations
