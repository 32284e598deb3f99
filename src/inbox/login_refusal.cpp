#include "inbox/login_refusal.hpp"

#include <algorithm>
#include <array>

namespace inboxd::inbox {
namespace {

struct Refusal {
  std::string_view words;
  std::string_view remedy;
};

constexpr std::string_view authority =
    "set sslrootcert in database.url to the certificate authority of the server, and renew an expired certificate "
    "there";
constexpr std::string_view certificate =
    "set sslcert and sslkey in database.url to a certificate that the server accepts, and to its key";

/// Of libpq, which notices a mistake before the server has answered, or gets an alert instead of an answer.
constexpr std::array of_tls{
    Refusal{"does not match host name", "use the host name of the server's certificate in database.url"},
    Refusal{"certificate verify failed", authority},
    Refusal{"root certificate file", authority},
    Refusal{"private key file", certificate},
    Refusal{"certificate file", certificate},
    Refusal{"alert unknown ca", certificate},
    Refusal{"alert bad certificate", certificate},
    Refusal{"alert certificate", certificate},
    Refusal{"server does not support SSL",
            "the server answers without TLS: turn ssl on there, or set another sslmode in database.url"},
};

/// Of the server. In another language the remedy is the usual one.
constexpr std::array of_server{
    Refusal{"no encryption", "the server wants TLS from this login: set sslmode=verify-full and sslrootcert in "
                             "database.url, or correct its user"},
    Refusal{"valid client certificate", certificate},
    Refusal{"ertificate authentication failed", certificate},
};

template <std::size_t size>
const Refusal* find(const std::array<Refusal, size>& all, std::string_view message) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Refusal& one) {
    return message.find(one.words) != std::string_view::npos;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

bool is_tls_refused(std::string_view message) {
  const auto last = message.rfind("connection to server at ");
  return find(of_tls, last == std::string_view::npos ? message : message.substr(last)) != nullptr;
}

std::string login_remedy(std::string_view message) {
  for (const Refusal* const found : {find(of_tls, message), find(of_server, message)}) {
    if (found != nullptr) return std::string{found->remedy};
  }
  return "correct the user in database.url or database.password";
}

}  // namespace inboxd::inbox
