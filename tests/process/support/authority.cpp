#include "process/support/authority.hpp"

#include <array>
#include <ctime>
#include <stdexcept>
#include <vector>

#include "support/process.hpp"

namespace inboxd::support {
namespace {

void openssl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "openssl");
  const auto finished = run_to_end({.arguments = std::move(arguments)});
  if (finished.status != ExitStatus{0, 0}) throw std::runtime_error{"openssl: " + finished.err};
}

std::string utc(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d%H%M%SZ", ::gmtime_r(&seconds, &parts));
  return text.data();
}

}  // namespace

Authority::Authority() {
  openssl({"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path("ca.key"), "-out", path("ca.pem"), "-subj",
           "/CN=authority", "-days", "2"});
  write_file(path("index"), "");
  write_file(path("config"), "[ca]\ndefault_ca=authority\n[authority]\ndatabase=" + path("index") + "\nnew_certs_dir=" +
                                 path("") + "\nrand_serial=yes\ndefault_md=sha256\npolicy=names\n" +
                                 "copy_extensions=copy\nunique_subject=no\n[names]\ncommonName=supplied\n");
}

Authority::Pair Authority::issue(const std::string& name, std::chrono::seconds valid) const {
  const Pair out{path(name + ".pem"), path(name + ".key")};
  openssl({"req", "-newkey", "rsa:2048", "-nodes", "-keyout", out.key, "-out", path(name + ".csr"), "-subj",
           "/CN=" + name, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"});
  openssl({"ca", "-config", path("config"), "-batch", "-notext", "-in", path(name + ".csr"), "-out", out.certificate,
           "-cert", path("ca.pem"), "-keyfile", path("ca.key"), "-startdate", "20200101000000Z", "-enddate",
           utc(std::chrono::system_clock::now() + valid)});
  return out;
}

}  // namespace inboxd::support
