#include "daemon/descriptors.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <string>

namespace inboxd::daemon {
namespace {

/// The brokers of three clients, plugins, log, epoll and wake-up descriptors.
constexpr std::size_t others = 150;
constexpr std::size_t of_a_child = 4;  ///< its three pipes and its pidfd
constexpr rlim_t usual = 65'536;

std::size_t of_handler(const config::Handler& handler) {
  const auto concurrency = static_cast<std::size_t>(std::max(handler.concurrency, 1));
  if (handler.plugin == "http") return concurrency + 2;  // the health check, and a connection that is being closed
  return handler.plugin == "exec" ? of_a_child * concurrency : 0;
}

}  // namespace

void raise_descriptor_limit(const config::Settings& settings) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, std::max<rlim_t>(usual, descriptors_needed(settings)));
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::size_t descriptors_needed(const config::Settings& settings) {
  // A session of a transaction has two: its socket and a duplicate.
  std::size_t needed = others + 2 * static_cast<std::size_t>(settings.database.connections);
  if (!settings.admin.is_off()) needed += static_cast<std::size_t>(settings.admin.connections);
  for (const config::Handler& handler : settings.handlers) needed += of_handler(handler);
  return needed;
}

std::optional<base::Problem> descriptors_problem(const config::Settings& settings) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return descriptors_problem(settings, limit.rlim_max);
}

std::optional<base::Problem> descriptors_problem(const config::Settings& settings, std::size_t limit) {
  const std::size_t needed = descriptors_needed(settings);
  if (needed <= limit) return std::nullopt;
  std::string list;
  for (const config::Handler& handler : settings.handlers) {
    if (of_handler(handler) > 0) list += handler.name + ": " + std::to_string(of_handler(handler)) + ", ";
  }
  return base::Problem{"the process may open " + std::to_string(limit) + " files, but the configuration needs up to " +
                       std::to_string(needed) + " (" + list + "two for each of database.connections, " +
                       "admin.connections, and " + std::to_string(others) +
                       " more); raise the limit (ulimit -Hn, LimitNOFILE= of systemd, --ulimit nofile= of a " +
                       "container), or lower concurrency"};
}

}  // namespace inboxd::daemon
