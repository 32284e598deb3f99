#include "admin/http_client.hpp"

#include <utility>
#include <vector>

#include "admin/gate.hpp"
#include "admin/tls.hpp"
#include "base/http_exchange.hpp"

namespace inboxd::admin {
namespace {

/// A daemon that listens on every address is asked at the loopback address.
std::string reachable(const std::string& listen) {
  const std::string port = listen.substr(listen.rfind(':'));
  if (listen.starts_with("0.0.0.0:")) return "127.0.0.1" + port;
  return listen.starts_with("[::]:") ? "[::1]" + port : listen;
}

/// Sends the weakest token that suffices, because another program may listen in place of a stopped daemon: none with a
/// probe, the read token with a read.
config::Secret token_for(const config::Admin& settings, const Question& question) {
  if (!question.target.starts_with("/v1/")) return {};
  const bool reads = question.method == "GET" && !settings.read_token.empty();
  return reads || settings.token.empty() ? settings.read_token : settings.token;
}

std::vector<std::string> headers_of(const Question& question, const config::Secret& token) {
  std::vector<std::string> out{"Host: localhost"};
  if (!token.empty()) out.push_back("Authorization: Bearer " + token.reveal());
  if (!question.actor.empty()) out.push_back(std::string{actor_header} + ": " + question.actor);
  if (question.method != "GET") out.emplace_back("Content-Type: application/json");
  return out;
}

}  // namespace

base::Result<HttpResponse> ask(const config::Admin& settings, const Question& question,
                               std::chrono::milliseconds timeout) {
  if (settings.is_off()) return base::Problem{"the admin port is off; set admin.listen or admin.socket"};
  const config::Secret token = token_for(settings, question);
  const bool by_socket = !settings.socket.empty();
  const bool in_tls = !by_socket && !settings.tls.is_off();
  const std::string where = by_socket ? settings.socket : settings.listen;
  base::HttpQuestion asked{(in_tls ? "https://" : "http://") + (by_socket ? "localhost" : reachable(where)) +
                               question.target,
                           std::chrono::steady_clock::now() + timeout, headers_of(question, token)};
  if (question.method != "GET") asked.body = question.body;
  asked.unix_socket = settings.socket;
  if (in_tls) {
    auto key = public_key_of(settings.tls.certificate);
    if (!key) return key.problem();
    asked.public_key = std::move(key).value();
    if (!settings.tls.client_ca.empty()) {
      asked.certificate = settings.tls.certificate;
      asked.key = settings.tls.key;
    }
  }
  // In plain text, a token goes to this machine only.
  asked.only_this_machine = !token.empty() && !in_tls;
  base::HttpReply reply = base::exchange(asked);
  if (reply.is_elsewhere && reply.status == 0) {
    return base::Problem{"admin.listen: " + where +
                         " is not an address of this machine, and a token is sent to no other in plain text; run the "
                         "command where the daemon runs, or set admin.tls or admin.socket"};
  }
  if (!reply.problem.empty()) return base::Problem{"no daemon answers at " + where + ": " + reply.problem};
  return HttpResponse{reply.status, std::move(reply.body), {}, std::move(reply.headers)};
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
