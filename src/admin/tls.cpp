#include "admin/tls.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <system_error>
#include <utility>

namespace inboxd::admin {
namespace {

using base::Problem;
using Context = std::unique_ptr<SSL_CTX, FreeTls>;

/// OpenSSL's first error since the last ERR_clear_error().
Problem refused(const std::string& key, const std::string& file) {
  const unsigned long error = ERR_peek_error();
  const char* const reason = ERR_SYSTEM_ERROR(error) ? nullptr : ERR_reason_error_string(error);
  const std::string text = reason != nullptr ? reason : std::generic_category().message(ERR_GET_REASON(error));
  return {key + ": " + file + ": " + text};
}

/// The command line shows the port's own certificate, whatever authority and purpose it has.
int verify_client(X509_STORE_CTX* chain, void*) {
  const auto* const session =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const X509* const own = SSL_get_certificate(session);
  const X509* const shown = X509_STORE_CTX_get0_cert(chain);
  if (own != nullptr && shown != nullptr && X509_cmp(own, shown) == 0) return 1;
  return X509_verify_cert(chain);
}

std::optional<Problem> demand_certificates(SSL_CTX* context, const std::string& keys, const std::string& authorities) {
  auto* const names = SSL_load_client_CA_file(authorities.c_str());
  if (names == nullptr || SSL_CTX_load_verify_file(context, authorities.c_str()) != 1) {
    return refused(keys + ".client_ca", authorities);
  }
  SSL_CTX_set_client_CA_list(context, names);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(context, verify_client, nullptr);
  return std::nullopt;
}

base::Result<Context> context_of(const config::PortTls& files, const std::string& keys) {
  ERR_clear_error();
  Context out{SSL_CTX_new(TLS_server_method())};
  if (!out) return Problem{keys + ": OpenSSL has no TLS"};
  SSL_CTX* const context = out.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // No session is resumed: each connection is checked against the present files.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  // A key with a passphrase is refused; OpenSSL would ask for it at the terminal.
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return 0; });
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return refused(keys + ".certificate", files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return refused(keys + ".key", files.key);
  }
  if (!files.client_ca.empty()) {
    if (auto problem = demand_certificates(context, keys, files.client_ca)) return *problem;
  }
  return out;
}

std::string version_of(const config::PortTls& files) {
  std::string out;
  for (const std::string* const file : {&files.certificate, &files.key, &files.client_ca}) {
    struct stat about {};
    if (file->empty() || ::stat(file->c_str(), &about) != 0) continue;
    out += std::to_string(about.st_ino) + "," + std::to_string(about.st_size) + "," +
           std::to_string(about.st_mtim.tv_sec) + "," + std::to_string(about.st_mtim.tv_nsec) + ";";
  }
  return out;
}

}  // namespace

std::optional<Problem> Tls::open() {
  version_ = version_of(files_);
  auto read = context_of(files_, keys_);
  if (!read) return read.problem();
  context_ = std::move(read).value();
  return std::nullopt;
}

void Tls::renew() {
  std::string version = version_of(files_);
  if (version == version_) return;
  version_ = std::move(version);
  auto read = context_of(files_, keys_);
  if (read) {
    context_ = std::move(read).value();
    log_.info("admin.certificate_renewed", {{"certificate", files_.certificate}});
  } else {
    log_.warn("admin.certificate_unusable", {{"reason", read.problem().message}});
  }
}

TlsSession Tls::session(int descriptor) {
  renew();
  ERR_clear_error();
  TlsSession out{SSL_new(context_.get())};
  if (!out || SSL_set_fd(out.get(), descriptor) != 1) return nullptr;
  SSL_set_accept_state(out.get());
  return out;
}

std::optional<Problem> problem_of(const config::PortTls& files, const std::string& keys) {
  if (files.is_off()) return std::nullopt;
  const auto read = context_of(files, keys);
  return read ? std::nullopt : std::optional{read.problem()};
}

base::Result<std::string> public_key_of(const std::string& certificate) {
  ERR_clear_error();
  const std::unique_ptr<BIO, decltype(&BIO_free)> file{BIO_new_file(certificate.c_str(), "r"), BIO_free};
  const std::unique_ptr<X509, decltype(&X509_free)> read{
      file ? PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr) : nullptr, X509_free};
  if (!read) return refused("admin.tls.certificate", certificate);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  unsigned char* key = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(read.get()), &key);
  SHA256(key, static_cast<std::size_t>(size), digest.data());
  OPENSSL_free(key);
  std::array<unsigned char, 4 * (SHA256_DIGEST_LENGTH + 2) / 3 + 1> text;
  EVP_EncodeBlock(text.data(), digest.data(), SHA256_DIGEST_LENGTH);
  return std::string{"sha256//"} + reinterpret_cast<const char*>(text.data());
}

}  // namespace inboxd::admin
