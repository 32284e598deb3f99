#include "base/look_up.hpp"

#include <netdb.h>

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace inboxd::base {
namespace {

using Found = Result<std::vector<Address>>;

Found ask_system(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) return Problem{::gai_strerror(error)};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned{found, ::freeaddrinfo};
  std::vector<Address> out;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Address& address = out.emplace_back();
    address.family = one->ai_family;
    address.length = one->ai_addrlen;
    std::memcpy(&address.bytes, one->ai_addr, one->ai_addrlen);
  }
  return out;
}

/// What the asking thread and the waiting one share; whoever is last lets it go.
struct Answer {
  std::mutex mutex;  // guards the following
  std::condition_variable changed;
  std::optional<Found> found;
};

}  // namespace

Found look_up(const std::string& host, const std::string& port, std::chrono::steady_clock::time_point end) {
  // An address is no name: nobody has to be asked.
  if (auto found = ask_system(host, port, AI_NUMERICHOST)) return found;
  const auto answer = std::make_shared<Answer>();
  try {
    std::thread{[answer, host, port] {
      Found found = ask_system(host, port, 0);
      const std::lock_guard lock{answer->mutex};
      answer->found = std::move(found);
      answer->changed.notify_all();
    }}.detach();
  } catch (const std::system_error& error) {
    return Problem{std::string{"no thread can look the name up: "} + error.what()};
  }
  std::unique_lock lock{answer->mutex};
  if (!answer->changed.wait_until(lock, end, [&] { return answer->found.has_value(); })) {
    return Problem{"the name " + host + " is not looked up yet"};
  }
  return std::move(*answer->found);
}

}  // namespace inboxd::base
