#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "process/support/authority.hpp"
#include "support/database.hpp"
#include "support/private_postgres.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {

/// A PostgreSQL with TLS: user `app` logs in with a client certificate of that common name, user `keyed` with a
/// password, both over TLS only; user `open` without either. The test's own sessions are the superuser's, in plaintext.
class SecurePostgres final {
 public:
  explicit SecurePostgres(const Authority& authority, const Authority::Pair& certificate);

  std::string url() const { return server_->url(); }
  /// `host`: localhost and 127.0.0.1 are the certificate's names.
  std::string url_of(const std::string& login, const std::string& options, const std::string& host = "127.0.0.1") const;
  /// The server's own certificate, and the authority of its clients, for new sessions. Ends the sessions of users.
  void change(const Authority& authority, const Authority::Pair& certificate);
  void set_password(const std::string& password);

 private:
  void install(const Authority& authority, const Authority::Pair& certificate);
  void end_sessions();

  const TempFolder folder_;
  std::optional<PrivatePostgres> server_;
};

}  // namespace inboxd::support
