// The container image, built from the Dockerfile without an engine. The program runs from it as in an engine: read-only
// root, no capabilities, not root, first process of its namespace.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "package/support/packages.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr double limit_mib = 60;

/// A built image and its root.
class Image final {
 public:
  /// `build`, or `extend` with a Dockerfile and its context folder.
  explicit Image(const std::string& how, const std::vector<std::string>& from = {}) {
    std::vector<std::string> command{source_file("tests/package/support/image"), how, folder_.path()};
    command.insert(command.end(), from.begin(), from.end());
    must(command, milliseconds{2'000'000});
    const json manifest = json::parse(read_file(folder_ / "image/manifest.json"));
    for (const auto& layer : manifest.at("layers")) bytes_ += layer.at("size").get<double>();
    const std::string digest = manifest.at("config").at("digest");
    config_ = json::parse(read_file(folder_ / ("image/" + digest.substr(digest.find(':') + 1)))).at("config");
  }

  const json& config() const { return config_; }
  double compressed_mib() const { return bytes_ / (1 << 20); }
  fs::path operator/(std::string_view name) const { return folder_ / ("root/" + std::string{name}); }

  void configure(const std::string& text) const { write_file(folder_ / "config/inboxd.yaml", text); }
  Command command(const std::vector<std::string>& arguments) const {
    Command out{.arguments = {source_file("tests/package/support/image"), "run", folder_.path()},
                .out = folder_ / "log",
                .err = folder_ / "log"};
    out.arguments.insert(out.arguments.end(), arguments.begin(), arguments.end());
    return out;
  }
  Finished run(const std::vector<std::string>& arguments) const { return run_to_end(command(arguments)); }
  std::string log() const { return read_file(folder_ / "log"); }

 private:
  TempFolder folder_;
  json config_;
  double bytes_ = 0;
};

const Image& image() {
  static const Image once{"build"};
  return once;
}

/// The Dockerfile in the documentation.
std::string documented_dockerfile() {
  const std::string text = read_file(source_file("config/container/README.md"));
  const std::string opening = "```dockerfile\n";
  const auto begin = text.find(opening) + opening.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

/// The folder in which this libcrypto looks for certificates by default.
fs::path openssl_folder(const std::string& library) {
  const std::string opening = "OPENSSLDIR: \"";
  const auto begin = library.find(opening);
  if (begin == std::string::npos) throw std::runtime_error{"no OPENSSLDIR in libcrypto"};
  return library.substr(begin + opening.size(), library.find('"', begin + opening.size()) - begin - opening.size());
}

/// The first child: the daemon; its parent only waits.
pid_t child_of(pid_t process) {
  return std::stoi("0" + run_to_end({.arguments = {"pgrep", "--parent", std::to_string(process)}}).out);
}

}  // namespace

TEST_CASE("the image runs inboxd as an unprivileged user, supports health checks, and is small") {
  const json& config = image().config();
  CHECK(config.at("User") == "65532:65532");
  CHECK(config.at("Entrypoint") == json::array({"/usr/bin/inboxd"}));
  CHECK(config.at("Cmd") == json::array({"run"}));
  CHECK(config.at("StopSignal") == "SIGTERM");
  CHECK(config.at("Healthcheck").at("Test") == json::array({"CMD", "/usr/bin/inboxd", "health"}));
  WARN("the image has " << image().compressed_mib() << " MiB, compressed");
  CHECK(image().compressed_mib() <= limit_mib);
}

TEST_CASE("the image has no shell, compiler, package manager or set-uid file, and lists its contents") {
  for (const char* const program : {"bin/sh", "bin/bash", "usr/bin/apt-get", "usr/bin/dpkg", "usr/bin/g++"}) {
    CAPTURE(program);
    CHECK_FALSE(fs::exists(image() / program));
  }
  int programs = 0;
  for (const auto& entry : fs::recursive_directory_iterator{image() / "usr"}) {
    if (!entry.is_regular_file() || entry.is_symlink()) continue;
    const auto mode = entry.status().permissions();
    CAPTURE(entry.path());
    CHECK((mode & (fs::perms::set_uid | fs::perms::set_gid | fs::perms::others_write)) == fs::perms::none);
    programs += entry.path().parent_path().filename() == "bin" ? 1 : 0;
  }
  CHECK(programs == 1);
  CHECK(fs::exists(image() / "var/lib/dpkg/status.d/libc6"));
  CHECK(fs::exists(image() / "usr/share/doc/libc6/copyright"));
  CHECK(fs::exists(image() / "etc/ssl/certs/ca-certificates.crt"));
}

TEST_CASE("TLS finds its certificates in the default folder of the image's OpenSSL") {
  std::string library;
  for (const auto& entry : fs::recursive_directory_iterator{image() / "usr/lib"}) {
    if (entry.path().filename().string().starts_with("libcrypto.so")) library = read_file(entry.path());
  }
  const fs::path folder = openssl_folder(library);
  REQUIRE(fs::is_symlink(image() / (folder / "cert.pem").relative_path().string()));
  const fs::path bundle = fs::read_symlink(image() / (folder / "cert.pem").relative_path().string());
  CHECK_THAT(read_file(image() / bundle.relative_path().string()), ContainsSubstring("BEGIN CERTIFICATE"));
}

TEST_CASE("the image runs version, its handlers, and the check of the compose example") {
  CHECK_THAT(image().run({"version"}).out, ContainsSubstring("librdkafka"));
  CHECK_THAT(image().run({"plugin", "check", "log"}).out, ContainsSubstring("/usr/lib/inboxd/log.so"));
  image().configure(read_file(source_file("config/compose/inboxd.yaml")));
  const auto checked = image().run({"check", "--offline"});
  INFO(checked.out << checked.err);
  CHECK(checked.status == ExitStatus{0, 0});
}

TEST_CASE("the image handles events, reports its health, and exits cleanly on SIGTERM") {
  DaemonFixture fixture{2};
  const int port = free_port();
  fixture.config.handlers[0].plugin = "log";
  fixture.config.handlers[0].settings.clear();
  fixture.config.sections["log"] = "level: info, format: text";
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  image().configure(fixture.config.text());
  Process daemon{image().command({"run", "--migrate"})};
  wait_until(
      "it is ready",
      [&] {
        return image().run({"health"}).status == ExitStatus{0, 0};
      },
      patience, [&] { return image().log(); });
  fixture.produce(200);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(kill(child_of(daemon.id()), SIGTERM) == 0);
  CHECK(daemon.wait() == ExitStatus{0, 0});
  CHECK_THAT(image().log(), ContainsSubstring("kind=daemon.stopped"));
  CHECK(image().run({"health"}).status == ExitStatus{1, 0});
}

TEST_CASE("an own handler is built in the target dev and added to the image as documented") {
  image();
  const TempFolder folder;
  write_file(folder / "Dockerfile", documented_dockerfile());
  const Image extended{"extend", {folder / "Dockerfile", source_file("config/examples/receipt")}};
  const auto checked = extended.run({"plugin", "check", "receipt"});
  INFO(checked.out << checked.err << extended.log());
  CHECK(checked.status == ExitStatus{0, 0});
  CHECK_FALSE(fs::exists(extended / "bin/sh"));
}
