#pragma once
#include <memory>
#include <optional>
#include <string>

#include "admin/stream.hpp"
#include "base/logger.hpp"
#include "base/result.hpp"
#include "config/settings.hpp"

namespace inboxd::admin {

/// The certificates of a port. A new connection uses the files as they are then. One thread.
class Tls final {
 public:
  /// `keys`: the group of settings that messages name, such as admin.tls.
  Tls(config::PortTls files, std::string keys, base::Logger& log)
      : files_{std::move(files)}, keys_{std::move(keys)}, log_{log} {}

  /// Reads the files for the first time.
  std::optional<base::Problem> open();
  /// For a new connection; its first calls do the handshake. null: memory is short.
  TlsSession session(int descriptor);

 private:
  using Context = std::unique_ptr<SSL_CTX, FreeTls>;
  void renew();

  const config::PortTls files_;
  const std::string keys_;
  base::Logger& log_;
  Context context_;
  std::string version_;  ///< of the files that were read last
};

/// Why the port cannot use these files; nullopt: it can. For `check`.
std::optional<base::Problem> problem_of(const config::PortTls& files, const std::string& keys);

/// The digest of a certificate's public key, as `sha256//BASE64`. A client accepts this server only.
base::Result<std::string> public_key_of(const std::string& certificate);

}  // namespace inboxd::admin
