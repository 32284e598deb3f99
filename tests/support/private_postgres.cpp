#include "support/private_postgres.hpp"

#include <atomic>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/database.hpp"

namespace inboxd::support {
namespace {

void must(const std::string& what, const Finished& finished) {
  if (finished.status != ExitStatus{0, 0}) throw std::runtime_error{what + " failed: " + finished.out + finished.err};
}

}  // namespace

PrivatePostgres::PrivatePostgres(const std::vector<std::string>& lines, std::map<std::string, std::string> environment)
    : user_{needed("INBOXD_TEST_PG_USER")},
      programs_{needed("INBOXD_TEST_PG_BIN")},
      environment_{std::move(environment)},
      port_{free_port()} {
  must("chown", run_to_end({.arguments = {"chown", user_ + ":", folder_.path()}}));
  must("initdb", run_to_end({.arguments = {programs_ + "/initdb", "-D", folder_ / "data", "-U", "postgres",
                                           "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"},
                             .user = user_}));
  configure("listen_addresses = '127.0.0.1'");
  configure("unix_socket_directories = '" + folder_.path().string() + "'");
  configure("shared_buffers = 32MB");
  configure("fsync = off");
  configure("max_connections = 60");
  for (const std::string& line : lines) configure(line);
  start();
}

PrivatePostgres::PrivatePostgres(Streaming standby)
    : user_{standby.from.user_}, programs_{standby.from.programs_}, port_{free_port()} {
  must("chown", run_to_end({.arguments = {"chown", user_ + ":", folder_.path()}}));
  must("pg_basebackup", run_to_end({.arguments = {programs_ + "/pg_basebackup", "-D", folder_ / "data", "-d",
                                                  standby.from.url(), "-R", "--checkpoint=fast", "--no-sync"},
                                    .user = user_}));
  configure("unix_socket_directories = '" + folder_.path().string() + "'");
  start();
}

std::unique_ptr<PrivatePostgres> PrivatePostgres::standby_of(const PrivatePostgres& primary) {
  return std::unique_ptr<PrivatePostgres>{new PrivatePostgres{Streaming{primary}}};
}

void PrivatePostgres::promote() {
  Session session{url(), "inbox"};
  if (session.text("select pg_promote()") != "t") throw std::runtime_error{"the standby was not promoted"};
}

std::string PrivatePostgres::url() const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres";
}

void PrivatePostgres::start() {
  if (is_running()) return;
  const auto log = folder_ / "log";
  server_ = std::make_unique<Process>(
      Command{.arguments = {programs_ + "/postgres", "-D", folder_ / "data", "-p", std::to_string(port_)},
              .environment = environment_,
              .user = user_,
              .out = log,
              .err = log});
  Session session{url(), "inbox"};
  wait_until("PostgreSQL starts", [&] {
    if (!server_->is_running()) throw std::runtime_error{"PostgreSQL does not start: " + read_file(log)};
    return session.is_up();
  });
}

void PrivatePostgres::stop() {
  if (!server_) return;
  server_->signal(SIGQUIT);
  server_->wait();
  server_.reset();
}

void PrivatePostgres::snapshot() {
  const bool was_running = is_running();
  stop();
  copy(folder_ / "data", folder_ / "snapshot");
  if (was_running) start();
}

void PrivatePostgres::restore() {
  stop();
  copy(folder_ / "snapshot", folder_ / "data");
  start();
}

void PrivatePostgres::copy(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::remove_all(to);
  must("cp", run_to_end({.arguments = {"cp", "-a", from, to}}));
  std::filesystem::remove(to / "postmaster.pid");
}

void PrivatePostgres::configure(const std::string& line) {
  std::ofstream{folder_ / "data" / "postgresql.conf", std::ios::app} << line << '\n';
  if (is_running()) server_->signal(SIGHUP);
}

// Sessions see the setting before the checkpointer does, and commits wait only after that.
void PrivatePostgres::lose_standby() {
  configure("synchronous_standby_names = 'ghost'");
  Session watcher{url(), "inbox"};
  wait_until("commits wait for a standby", [&] {
    std::atomic<bool> has_ended{false};
    const std::jthread committing{[&] {
      try {
        Session session{url(), "inbox"};
        session.run("set statement_timeout = '10s'");
        session.run("select pg_logical_emit_message(true, 'test', '')");
      } catch (const std::exception&) {  // retried
      }
      has_ended = true;
    }};
    const auto released = [&] {
      return watcher.number(
          "select count(pg_cancel_backend(pid)) from pg_stat_activity where wait_event = 'SyncRep' and "
          "query like '%pg_logical_emit_message(true%' and pid <> pg_backend_pid()");
    };
    bool waited = false;
    while (!has_ended && !waited) waited = released() > 0;
    return waited;
  });
}

}  // namespace inboxd::support
