#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/database.hpp"
#include "support/kafka.hpp"
#include "support/notify_socket.hpp"
#include "support/process.hpp"

namespace inboxd::support {

/// A handler of an inboxd.yaml. Other keys are YAML in `more`: `deadline: 2s`.
struct HandlerText {
  std::string name = "recorder";
  std::string plugin = {};               ///< empty: the recorder
  std::vector<std::string> topics = {};  ///< empty: all
  std::string start = "beginning";
  std::vector<std::string> more = {};
  std::map<std::string, std::string> settings = {};
  std::vector<std::string> types = {};   ///< empty: all
};

/// An inboxd.yaml with test defaults: short sessions, short leases, fast polling.
struct ConfigText {
  ConfigText(const Database& database, const Kafka& kafka);
  explicit ConfigText(const Database& database);  ///< without Kafka

  std::string url;
  std::string schema;
  std::string brokers;  ///< empty: no section kafka
  std::string group = random_name("group");
  std::string instance_id = {};
  std::map<std::string, std::string> kafka;
  std::vector<std::string> topics = {};  ///< YAML maps: `{name: orders, start: end}`
  std::vector<HandlerText> handlers = {};
  std::map<std::string, std::string> sections = {};  ///< `ingest` -> `{connections: 1}`, `database` -> `prepare: false`

  std::string text() const;
};

std::string daemon_program();
/// The file of a test plugin, such as `recorder`.
std::string plugin_file(const std::string& name);

/// A running daemon; killed at the end. A failing test prints the end of its log.
class DaemonProcess final {
 public:
  explicit DaemonProcess(const ConfigText& config, std::vector<std::string> arguments = {"run", "--migrate"},
                         std::map<std::string, std::string> environment = {});
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  Process& process() { return *process_; }
  const NotifySocket& notified() const { return notify_; }

  void wait_ready();
  /// SIGTERM
  ExitStatus stop(milliseconds within = patience);
  void kill() { process_->kill(); }

  void write_config(std::string_view text);  ///< for SIGHUP
  std::string log() const;
  int count_in_log(const std::string& text) const;
  void wait_log(const std::string& text, int times = 1, milliseconds within = patience) const;

 private:
  TempFolder folder_;
  NotifySocket notify_;
  std::unique_ptr<Process> process_;
};

/// Runs a command of the program: `command(config, {"check", "--offline"})`.
Finished command(const ConfigText& config, const std::vector<std::string>& arguments,
                 std::map<std::string, std::string> environment = {});
Finished command_with_file(std::string_view config, const std::vector<std::string>& arguments,
                           std::string* path = nullptr, std::map<std::string, std::string> environment = {});

}  // namespace inboxd::support
