#include "admin/http_client.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "admin/gate.hpp"
#include "base/exchange.hpp"
#include "base/look_up.hpp"
#include "base/text.hpp"

namespace inboxd::admin {
namespace {

/// A daemon that listens on every address is asked at the loopback address.
std::string reachable(const std::string& host) {
  if (host == "0.0.0.0") return "127.0.0.1";
  return host == "::" ? "::1" : host;
}

/// Sends the weakest token that suffices, because another program may listen in place of a stopped daemon: none with a
/// probe, the read token with a read.
config::Secret token_for(const config::Admin& settings, const Question& question) {
  if (!question.target.starts_with("/v1/")) return {};
  const bool reads = question.method == "GET" && !settings.read_token.empty();
  return reads || settings.token.empty() ? settings.read_token : settings.token;
}

std::string request_of(const Question& question, const config::Secret& token) {
  std::string out = question.method + " " + question.target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  if (!token.empty()) out += "Authorization: Bearer " + token.reveal() + "\r\n";
  if (!question.actor.empty()) out += std::string{actor_header} + ": " + question.actor + "\r\n";
  if (question.method != "GET") {
    out += "Content-Type: application/json\r\nContent-Length: " + std::to_string(question.body.size()) + "\r\n";
  }
  return out + "\r\n" + question.body;
}

/// The addresses of admin.listen. A token goes to this machine only: elsewhere it would travel in plain text.
base::Result<std::vector<base::Address>> addresses_of(const std::string& listen, bool carries_token,
                                                      base::Exchange::Clock::time_point end) {
  const auto [host, port] = base::split_address(listen);
  auto found = base::look_up(reachable(host), port, end);
  if (!found) return base::Problem{"no daemon answers at " + listen + ": " + found.problem().message};
  std::vector<base::Address> out = std::move(found).value();
  if (carries_token) std::erase_if(out, [](const auto& one) { return !base::is_of_this_machine(one); });
  if (out.empty()) {
    return base::Problem{"admin.listen: " + listen +
                         " is not an address of this machine, and a token is sent to no other; run the command where "
                         "the daemon runs, or set admin.socket"};
  }
  return out;
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
  if (settings.is_off()) return base::Problem{"the admin port is off; set admin.listen or admin.socket"};
  const auto end = base::Exchange::Clock::now() + timeout;
  const config::Secret token = token_for(settings, question);
  const bool by_socket = !settings.socket.empty();
  const std::string where = by_socket ? settings.socket : settings.listen;
  base::Exchange exchange{end};
  bool is_connected = false;
  if (by_socket) {
    is_connected = exchange.connect_to_path(where);
  } else {
    const auto addresses = addresses_of(where, !token.empty(), end);
    if (!addresses) return addresses.problem();
    is_connected = exchange.connect_to(addresses.value());
  }
  std::string answer;
  if (!is_connected || !exchange.send(request_of(question, token)) || !exchange.receive(answer)) {
    return base::Problem{"no daemon answers at " + where + (exchange.problem().empty() ? "" : ": ") +
                         exchange.problem()};
  }
  auto response = parsed(answer);
  if (!response) return base::Problem{"the process at " + where + " is not an inboxd"};
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
