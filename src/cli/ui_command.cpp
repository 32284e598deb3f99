#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ostream>
#include <utility>

#include "admin/http_client.hpp"
#include "admin/page_key.hpp"
#include "base/socket.hpp"
#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/shards_page.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using Kind = operations::Parameter::Kind;

/// The port's address as a browser on this machine reaches it.
std::string address_of(const config::Admin& settings) {
  const auto colon = settings.listen.rfind(':');
  std::string host = settings.listen.substr(0, colon);
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "[::]") host = "[::1]";
  return (settings.tls.is_off() ? "http://" : "https://") + host + settings.listen.substr(colon) + "/";
}

/// Opens a browser by a file of this user's: other users can read the arguments of a process. False: there is none.
bool open_browser(const std::string& link) {
  const std::string folder = environment("XDG_RUNTIME_DIR");
  const bool has_display = !environment("DISPLAY").empty() || !environment("WAYLAND_DISPLAY").empty();
  if (::geteuid() == 0 || folder.empty() || !has_display) return false;
  const std::string file = folder + "/inboxd-page.html";
  ::unlink(file.c_str());
  const std::string text = "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=" + link + "\">\n";
  {
    const base::Socket out{::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    const auto size = static_cast<ssize_t>(text.size());
    if (out.get() < 0 || ::write(out.get(), text.data(), text.size()) != size) return false;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);  // Interrupt blocks signals here
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int stream : {0, 1, 2}) ::dup2(nowhere, stream);
    ::execlp("xdg-open", "xdg-open", file.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

void show_link(const Session& session, const operations::Arguments& arguments, const std::string& link) {
  if (session.json) {
    session.print({{"link", link}});
  } else {
    session.output.out << link << '\n' << std::flush;
  }
  if (!arguments.flag("no-open") && session.output.can_ask) open_browser(link);
}

/// The page of all databases, until Ctrl-C.
ExitCode ui_of_shards(const Session& session, const operations::Arguments& arguments) {
  auto shards = load_shards(session, [](std::string_view key) { return key.starts_with("database."); });
  if (!shards) return ExitCode::configuration;
  Interrupt interrupt;
  ShardsPage page{session, std::move(*shards)};
  if (const std::string problem = page.start(); !problem.empty()) {
    session.say("ui: " + problem);
    return ExitCode::unavailable;
  }
  show_link(session, arguments, page.link());
  session.say("ui: serves the page of all databases until Ctrl-C");
  while (!interrupt.wait(std::chrono::hours{1})) {
  }
  return ExitCode::done;
}

ExitCode ui(Session& session, const operations::Arguments& arguments) {
  if (!session.shards_file.empty()) return ui_of_shards(session, arguments);
  const auto loaded = session.load(true);  // without secrets: the key is enough
  if (!loaded) return ExitCode::configuration;
  const config::Admin& settings = loaded->settings.admin;
  const auto key = admin::read_page_key(settings);
  if (!key) {
    session.say("ui: " + key.problem().message);
    return ExitCode::no;
  }
  show_link(session, arguments, address_of(settings) + "#token=" + key.value() + "&actor=" + admin::encoded(actor()));
  return ExitCode::done;
}

}  // namespace

Command ui_command() {
  Command out{"ui",
              "Prints a link to the page of the running daemon, with a key to it, and opens it in a browser. Whoever "
              "has the link has its rights until the daemon ends (admin.ui). With --shards, serves a page that reads "
              "all databases as one, until Ctrl-C.",
              {{"ui", "on the daemon's machine, as its user or root"},
               {"ui --no-open", "prints the link only"},
               {"ui --shards shards.yaml", "of several databases that share topics"}},
              {{"no-open", Kind::flag, "do not open a browser"}},
              ui};
  out.reads_shards = true;
  return out;
}

}  // namespace inboxd::cli
