#include "support/pgbouncer.hpp"

#include <stdexcept>

#include "support/database.hpp"

namespace inboxd::support {

PgBouncer::PgBouncer(const std::string& url, const std::string& line) {
  const int port = free_port();
  url_ = url_with_port(url, port);
  const std::string user = needed("INBOXD_TEST_PG_USER");
  const auto log = folder_ / "log";
  write_file(log, "");
  std::filesystem::permissions(log, std::filesystem::perms{0666});
  write_file(folder_ / "users", "\"postgres\" \"\"\n");
  write_file(folder_ / "pgbouncer.ini",
             "[databases]\n* = host=127.0.0.1 port=" + std::to_string(port_of(url)) +
                 "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " + std::to_string(port) +
                 "\nunix_socket_dir =\nauth_type = trust\nauth_file = " + (folder_ / "users").string() +
                 "\npool_mode = transaction\ndefault_pool_size = 10\nmax_client_conn = 100\n" + line + "\n");
  process_ = std::make_unique<Process>(
      Command{.arguments = {"pgbouncer", folder_ / "pgbouncer.ini"}, .user = user, .out = log, .err = log});
  Session session{url_, "inbox"};
  wait_until("PgBouncer starts", [&] {
    if (!process_->is_running()) throw std::runtime_error{"PgBouncer does not start: " + read_file(log)};
    return session.is_up();
  });
}

}  // namespace inboxd::support
