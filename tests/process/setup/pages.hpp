#pragma once
#include <librdkafka/rdkafka.h>

#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/daemon_process.hpp"
#include "support/fenced_block.hpp"
#include "support/process.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {

using Replacements = std::vector<std::pair<std::string, std::string>>;

/// Replaces each text wherever it occurs. Throws if one does not occur.
inline std::string replaced(std::string text, const Replacements& replacements) {
  for (const auto& [from, to] : replacements) {
    auto at = text.find(from);
    if (at == std::string::npos) throw std::runtime_error{"no '" + from + "' in:\n" + text};
    for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  }
  return text;
}

/// A page of config/. Its blocks are copied out, with a test's names in place of the page's.
class Page final {
 public:
  explicit Page(const std::string& name)
      : text_{read_file(std::filesystem::path{INBOXD_CONFIG_FOLDER} / name)} {}

  /// The first block of that language after that text.
  std::string block(const std::string& language, const std::string& after = "",
                    const Replacements& replacements = {}) const {
    return replaced(fenced_block(text_, language, after), replacements);
  }

 private:
  std::string text_;
};

/// Runs lines of a shell in a folder, with `inboxd` on the path. Throws with their output unless they succeed.
inline std::string run_shell(const std::filesystem::path& folder, const std::string& lines) {
  const auto programs = std::filesystem::path{daemon_program()}.parent_path();
  const auto finished = run_to_end({{"bash", "-ec", "cd '" + folder.string() + "'\n" + lines},
                                    {{"PATH", programs.string() + ":" + needed("PATH")}}});
  if (finished.status != ExitStatus{0, 0}) throw std::runtime_error{lines + finished.out + finished.err};
  return finished.out + finished.err;
}

/// Commits a group's offset of partition 0, as a consumer does that has stopped since.
inline void commit_offset(const std::string& brokers, const std::string& group, const std::string& topic,
                          std::int64_t offset) {
  char reason[512];
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), reason, sizeof reason);
  rd_kafka_conf_set(conf, "group.id", group.c_str(), reason, sizeof reason);
  const std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)> client{
      rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason), rd_kafka_destroy};
  if (client == nullptr) throw std::runtime_error{reason};
  const std::unique_ptr<rd_kafka_topic_partition_list_t, void (*)(rd_kafka_topic_partition_list_t*)> offsets{
      rd_kafka_topic_partition_list_new(1), rd_kafka_topic_partition_list_destroy};
  rd_kafka_topic_partition_list_add(offsets.get(), topic.c_str(), 0)->offset = offset;
  const auto error = rd_kafka_commit(client.get(), offsets.get(), 0);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error{rd_kafka_err2str(error)};
}

}  // namespace inboxd::support
