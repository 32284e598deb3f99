#include "admin/http_client.hpp"

#include <algorithm>
#include <charconv>

#include "admin/gate.hpp"
#include "base/exchange.hpp"
#include "base/text.hpp"

namespace inboxd::admin {
namespace {

/// What listens on every address is asked on this machine's own.
std::string reachable(const std::string& host) {
  if (host == "0.0.0.0") return "127.0.0.1";
  return host == "::" ? "::1" : host;
}

std::optional<HttpResponse> parsed(const std::string& bytes) {
  HttpResponse out;
  const auto end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.1 ") || end == std::string::npos) return std::nullopt;
  std::from_chars(bytes.data() + 9, bytes.data() + std::min<std::size_t>(12, bytes.size()), out.status);
  std::size_t at = bytes.find("\r\n") + 2;
  while (at < end + 2) {
    const auto line_end = bytes.find("\r\n", at);
    const std::string line = bytes.substr(at, line_end - at);
    if (const auto colon = line.find(": "); colon != std::string::npos) {
      out.headers.emplace_back(base::lower(line.substr(0, colon)), line.substr(colon + 2));
    }
    at = line_end + 2;
  }
  out.body = bytes.substr(end + 4);
  return out;
}

}  // namespace

base::Result<HttpResponse> ask(const config::Admin& settings, const Question& question,
                               std::chrono::milliseconds timeout) {
  if (settings.is_off()) return base::Problem{"the admin port is off (admin.listen); nobody can be asked"};
  base::Exchange exchange{base::Exchange::Clock::now() + timeout};
  const bool by_socket = !settings.socket.empty();
  const std::string where = by_socket ? settings.socket : settings.listen;
  const auto [host, port] = base::split_address(settings.listen);
  std::string request =
      question.method + " " + question.target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  // Probes need none; while the daemon is away, anybody on this machine may listen in its place.
  const bool needs_token = question.target.starts_with("/v1/");
  if (needs_token && !settings.token.empty()) request += "Authorization: Bearer " + settings.token.reveal() + "\r\n";
  if (!question.actor.empty()) request += std::string{actor_header} + ": " + question.actor + "\r\n";
  if (question.method != "GET") {
    request += "Content-Type: application/json\r\nContent-Length: " + std::to_string(question.body.size()) + "\r\n";
  }
  request += "\r\n" + question.body;
  std::string answer;
  const bool done =
      (by_socket ? exchange.connect_to_path(where) : exchange.connect_to_port(reachable(host), port)) &&
      exchange.send(request) && exchange.receive(answer);
  if (!done) {
    return base::Problem{"no daemon answers at " + where + (exchange.problem().empty() ? "" : ": ") +
                         exchange.problem()};
  }
  auto response = parsed(answer);
  if (!response) return base::Problem{"what answers at " + where + " is no inboxd"};
  return std::move(*response);
}

std::string encoded(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '_' || c == '.' || c == '~';
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain)
      out += c;
    else
      out.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return out;
}

}  // namespace inboxd::admin
