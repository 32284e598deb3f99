#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process/shards/shards_fixture.hpp"
#include "support/process.hpp"

namespace inboxd::support {

/// Two databases with events, and the list of their configurations.
class ListedShards final {
 public:
  ListedShards() {
    for (auto& shard : fixture_.shards) daemons_.push_back(shard->start());
    std::vector<Message> messages;
    for (int i = 0; i < 4; ++i) {
      messages.push_back(event_message(fixture_.topic, "00000000-0000-4000-8000-00000000000" + std::to_string(i)));
      messages.back().partition = i;
    }
    fixture_.kafka.produce(messages);
    fixture_.wait_done(4);
    for (std::size_t i = 0; i < 2; ++i) write_file(folder_ / file(i), fixture_.shards[i]->config.text());
    write_file(folder_ / "shards.yaml", "[" + file(0) + ", " + file(1) + "]\n");
  }

  static std::string file(std::size_t number) { return "shard-" + std::to_string(number) + ".yaml"; }
  ShardsFixture& fixture() { return fixture_; }
  const TempFolder& folder() const { return folder_; }
  /// From now on no server listens at the database's address in the list.
  void lose_database(std::size_t number) {
    auto away = fixture_.shards[number]->config;
    away.url = url_with_port(away.url, 1);
    write_file(folder_ / file(number), away.text());
  }
  Finished run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {daemon_program(), "--shards", folder_ / "shards.yaml"});
    return run_to_end({.arguments = arguments});
  }
  nlohmann::json answer(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    return nlohmann::json::parse(run(std::move(arguments)).out);
  }

 private:
  ShardsFixture fixture_{4, {needed("INBOXD_TEST_PG"), needed("INBOXD_TEST_PG")}};
  const TempFolder folder_;
  std::vector<std::unique_ptr<DaemonProcess>> daemons_;
};

}  // namespace inboxd::support
