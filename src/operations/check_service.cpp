#include "operations/check_service.hpp"

#include "base/exchange.hpp"

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
    base::Exchange exchange{base::Exchange::Clock::now() + patience};
    const bool is_path = path != handler.settings.end();
    const std::string address = is_path ? path->second : service->host + ":" + service->port;
    const bool answers = is_path ? exchange.connect_to_path(path->second)
                                 : exchange.connect_to_port(service->host, service->port);
    if (answers) {
      out.push_back({Finding::Kind::good, "handler " + handler.name, address + " accepts connections"});
    } else {
      out.push_back({Finding::Kind::warning, "handler " + handler.name,
                     address + ": " + exchange.problem() +
                         "; start the service, or correct settings.url: events wait until it answers"});
    }
  }
  return out;
}

}  // namespace inboxd::operations
