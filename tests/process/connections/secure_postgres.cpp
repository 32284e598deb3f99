#include "process/connections/secure_postgres.hpp"

#include <stdexcept>

#include "support/process.hpp"

namespace inboxd::support {

SecurePostgres::SecurePostgres(const Authority& authority, const Authority::Pair& certificate) {
  install(authority, certificate);
  const auto rules = folder_ / "rules";
  write_file(rules,
             "host all postgres 127.0.0.1/32 trust\nhost all open 127.0.0.1/32 trust\n"
             "hostssl all app 127.0.0.1/32 cert\nhostssl all keyed 127.0.0.1/32 scram-sha-256\n");
  const auto file = [&](const char* name) { return "'" + (folder_ / name).string() + "'"; };
  server_.emplace(std::vector<std::string>{"hba_file = " + file("rules"), "ssl = on", "listen_addresses = '*'",
                                           "ssl_cert_file = " + file("server.pem"),
                                           "ssl_key_file = " + file("server.key"), "ssl_ca_file = " + file("ca.pem")});
  for (const char* role : {"app", "keyed", "open"}) {
    Session{url(), "inbox"}.run("create role " + std::string{role} + " superuser login");
  }
}

std::string SecurePostgres::url_of(const std::string& login, const std::string& options,
                                   const std::string& host) const {
  return "postgresql://" + login + "@" + host + ":" + std::to_string(server_->port()) + "/postgres?" + options;
}

void SecurePostgres::change(const Authority& authority, const Authority::Pair& certificate) {
  install(authority, certificate);
  Session session{url(), "inbox"};
  const std::string before = session.text("select pg_conf_load_time()::text");
  session.run("select pg_reload_conf()");
  wait_until("PostgreSQL has read its files again",
             [&] { return Session{url(), "inbox"}.text("select pg_conf_load_time()::text") != before; });
  end_sessions();
}

void SecurePostgres::set_password(const std::string& password) {
  Session{url(), "inbox"}.run("alter role keyed password '" + password + "'");
  end_sessions();
}

void SecurePostgres::end_sessions() {
  Session{url(), "inbox"}.run(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename in ('app', 'keyed', 'open')");
}

void SecurePostgres::install(const Authority& authority, const Authority::Pair& certificate) {
  for (const auto& [from, name] : std::vector<std::pair<std::string, std::string>>{
           {certificate.certificate, "server.pem"},
           {certificate.key, "server.key"},
           {authority.certificate(), "ca.pem"}}) {
    const auto file = folder_ / name;
    const auto installed = run_to_end({.arguments = {"install", "-o", needed("INBOXD_TEST_PG_USER"), "-m", "600", from,
                                                     file.string()}});
    if (installed.status != ExitStatus{0, 0}) throw std::runtime_error{"install: " + installed.err};
  }
}

}  // namespace inboxd::support
