#pragma once
#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/socket.hpp"

namespace inboxd::admin {

struct FreeTls {
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsSession = std::unique_ptr<SSL, FreeTls>;

/// The bytes of a connection, in TLS if there is a session. Never blocks. One thread, which ignores SIGPIPE.
class Stream final {
 public:
  static constexpr std::ptrdiff_t try_later = -1;

  explicit Stream(base::Socket socket, TlsSession session = nullptr)
      : socket_{std::move(socket)}, session_{std::move(session)} {}

  int descriptor() const { return socket_.get(); }
  /// The number of bytes, try_later, or 0 if the connection has ended. Also continues the handshake.
  std::ptrdiff_t receive(char* to, std::size_t size);
  std::ptrdiff_t send(std::string_view bytes);
  /// TLS has failed, and OpenSSL has sent the reason. The stream then sends nothing, and receives without TLS.
  bool has_refused() const { return has_refused_; }
  /// Sends no more, and tells the peer.
  void finish();
  /// The event of poll() that the next call needs: TLS may have to write in order to read.
  short awaited(short usual) const { return awaited_ == 0 ? usual : awaited_; }

 private:
  std::ptrdiff_t result(int done, std::size_t count);

  base::Socket socket_;
  TlsSession session_;
  short awaited_ = 0;
  bool has_refused_ = false;
};

}  // namespace inboxd::admin
