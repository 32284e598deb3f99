#include "config/shard_files.hpp"

#include <filesystem>

#include "config/environment.hpp"
#include "config/shared_topics.hpp"
#include "config/tree.hpp"

namespace inboxd::config {

base::Result<std::vector<std::string>> shard_files(const std::string& path) {
  const auto text = read_file(path, largest_file);
  if (!text) return base::Problem{path + ": " + text.problem().message};
  Findings findings{path};
  const auto document = parse_tree(text.value(), findings);
  if (findings.has_problems()) return base::Problem{findings.problems().front().text()};
  std::vector<std::string> out;
  const bool is_list = document && document->kind == Node::Kind::list && !document->items.empty();
  for (const Node& item : is_list ? document->items : std::vector<Node>{}) {
    if (item.kind != Node::Kind::scalar || item.text.empty()) {
      return base::Problem{Finding{path, item.place, "", "write the path of a configuration file"}.text()};
    }
    out.push_back((std::filesystem::path{path}.parent_path() / item.text).string());
  }
  if (out.empty() || out.size() > max_shards) {
    return base::Problem{path + ": write a list of 1 to " + std::to_string(max_shards) +
                         " configuration files, such as [shard-0.yaml, shard-1.yaml]"};
  }
  return out;
}

}  // namespace inboxd::config
