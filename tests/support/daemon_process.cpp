#include "support/daemon_process.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace inboxd::support {
namespace {

constexpr std::size_t shown_of_log = 6000;

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return "[" + out + "]";
}

std::string text_of(const HandlerText& handler) {
  std::string out = "  - name: " + handler.name + "\n";
  out += "    plugin: " + (handler.plugin.empty() ? plugin_file("recorder") : handler.plugin) + "\n";
  out += "    subscribe: {topics: " + list(handler.topics) + ", types: " + list(handler.types) + "}\n";
  out += "    start: " + handler.start + "\n";
  for (const std::string& line : handler.more) out += "    " + line + "\n";
  const auto is_mode = [](const std::string& key) { return key.starts_with("mode:"); };
  // Tests of order and of windows name their mode.
  if (std::none_of(handler.more.begin(), handler.more.end(), is_mode)) out += "    mode: single\n";
  if (!handler.settings.empty()) out += "    settings:\n";
  for (const auto& [name, value] : handler.settings) out += "      " + name + ": " + value + "\n";
  return out;
}

}  // namespace

ConfigText::ConfigText(const Database& database, const Kafka& broker) : ConfigText{database} {
  brokers = broker.brokers();
}

ConfigText::ConfigText(const Database& database)
    : url{database.url()},
      schema{database.schema()},
      kafka{{"session.timeout.ms", "1000"},
            {"heartbeat.interval.ms", "300"},
            {"fetch.wait.max.ms", "50"},
            {"reconnect.backoff.max.ms", "500"},
            {"topic.metadata.refresh.interval.ms", "1000"}},
      sections{{"log", "level: debug, format: text"},
               {"dispatch", "poll: 50ms"},
               {"handler_defaults", "lease: 2s, concurrency: 2, events_per_call: 10"},
               {"shutdown", "drain: 10s"},
               {"admin", "listen: off"}} {}

std::string ConfigText::text() const {
  const auto more = [&](const std::string& section) {
    const auto found = sections.find(section);
    return found == sections.end() ? "" : ", " + found->second;
  };
  const std::string place = url.starts_with('{') ? url : "\"" + url + "\"";  // a form, as {file: /path}
  std::string out = "database: {url: " + place + ", schema: " + schema + more("database") + "}\n";
  if (!brokers.empty()) {
    out += "kafka:\n  brokers: " + brokers + "\n  group: " + group + "\n";
    if (!instance_id.empty()) out += "  instance_id: " + instance_id + "\n";
    out += "  properties:\n";
    for (const auto& [name, value] : kafka) out += "    " + name + ": " + value + "\n";
  }
  out += "topics:\n";
  for (const std::string& topic : topics) out += "  - " + topic + "\n";
  out += "handlers:\n";
  for (const HandlerText& handler : handlers) out += text_of(handler);
  for (const auto& [section, keys] : sections) {
    if (section != "database") out += section + ": {" + keys + "}\n";
  }
  return out;
}

std::string daemon_program() { return INBOXD_PROGRAM; }
std::string plugin_file(const std::string& name) { return std::string{INBOXD_TEST_PLUGINS} + "/" + name + ".so"; }

DaemonProcess::DaemonProcess(const ConfigText& config, std::vector<std::string> arguments,
                             std::map<std::string, std::string> environment) {
  write_config(config.text());
  std::vector<std::string> all{daemon_program(), "--config", folder_ / "inboxd.yaml"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  environment.try_emplace("NOTIFY_SOCKET", notify_.path());
  environment.try_emplace("RUNTIME_DIRECTORY", folder_.path());
  process_ = std::make_unique<Process>(
      Command{.arguments = all, .environment = std::move(environment), .out = folder_ / "log", .err = folder_ / "log"});
}

DaemonProcess::~DaemonProcess() {
  process_->kill();
  if (std::uncaught_exceptions() == 0) return;
  const std::string all = log();
  const auto begin = all.size() > shown_of_log ? all.find('\n', all.size() - shown_of_log) : 0;
  std::fprintf(stderr, "---- the end of the log of daemon %d:\n%s----\n", process_->id(), all.substr(begin).c_str());
}

void DaemonProcess::wait_ready() {
  wait_until("the daemon is ready", [&] {
    if (!process_->is_running()) throw std::runtime_error{"the daemon ended before it was ready: " + log()};
    return notify_.count("READY=1") > 0;
  });
}

ExitStatus DaemonProcess::stop(milliseconds within) {
  process_->signal(SIGTERM);
  return process_->wait(within);
}

void DaemonProcess::write_config(std::string_view text) { write_file(folder_ / "inboxd.yaml", text); }

std::string DaemonProcess::log() const { return read_file(folder_ / "log"); }

int DaemonProcess::count_in_log(const std::string& text) const {
  const std::string all = log();
  int count = 0;
  for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + text.size())) ++count;
  return count;
}

void DaemonProcess::wait_log(const std::string& text, int times, milliseconds within) const {
  wait_until(
      "the log says '" + text + "'", [&] { return count_in_log(text) >= times; }, within);
}

Finished command(const ConfigText& config, const std::vector<std::string>& arguments,
                 std::map<std::string, std::string> environment) {
  return command_with_file(config.text(), arguments, nullptr, std::move(environment));
}

Finished command_with_file(std::string_view config, const std::vector<std::string>& arguments, std::string* path,
                           std::map<std::string, std::string> environment) {
  const TempFolder folder;
  write_file(folder / "inboxd.yaml", config);
  if (path != nullptr) *path = folder / "inboxd.yaml";
  std::vector<std::string> all{daemon_program(), "--config", folder / "inboxd.yaml"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_to_end({.arguments = all, .environment = std::move(environment)});
}

}  // namespace inboxd::support
