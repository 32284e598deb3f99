#include "admin/stream.hpp"

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace inboxd::admin {
namespace {

std::ptrdiff_t result_of(ssize_t count) {
  if (count >= 0) return count;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? Stream::try_later : 0;
}

}  // namespace

std::ptrdiff_t Stream::receive(char* to, std::size_t size) {
  if (!session_ || has_refused_) return result_of(::recv(socket_.get(), to, size, 0));
  ERR_clear_error();
  std::size_t count = 0;
  const int done = SSL_read_ex(session_.get(), to, size, &count);
  return result(done, count);
}

std::ptrdiff_t Stream::send(std::string_view bytes) {
  if (!session_) return result_of(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  if (has_refused_) return 0;
  ERR_clear_error();
  std::size_t count = 0;
  const int done = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &count);
  return result(done, count);
}

std::ptrdiff_t Stream::result(int done, std::size_t count) {
  awaited_ = 0;
  if (done == 1) return static_cast<std::ptrdiff_t>(count);
  const int error = SSL_get_error(session_.get(), done);
  if (error == SSL_ERROR_WANT_READ) awaited_ = POLLIN;
  if (error == SSL_ERROR_WANT_WRITE) awaited_ = POLLOUT;
  if (awaited_ != 0) return try_later;
  has_refused_ = error == SSL_ERROR_SSL;
  return 0;
}

void Stream::finish() {
  ERR_clear_error();
  if (session_ && !has_refused_) SSL_shutdown(session_.get());
  // With unread bytes of the peer, close() would reset the connection and lose the answer.
  ::shutdown(socket_.get(), SHUT_WR);
}

}  // namespace inboxd::admin
