#include "consumer/recreated_topics.hpp"

#include <array>

#include "base/mutex.hpp"

namespace inboxd::consumer {
namespace {

constexpr std::string_view before_name = "Topic ";
constexpr std::string_view after_name = " changed id from ";
constexpr std::string_view before_id = " to ";
/// Ids are sixteen bytes in base 64.
constexpr std::size_t id_length = 22;
/// The library did not know the topic before.
constexpr std::string_view no_id = "AAAAAAAAAAAAAAAAAAAAAA ";

}  // namespace

bool RecreatedTopics::enable(rd_kafka_conf_t* conf) {
  std::array<char, 1024> requested{};
  std::size_t size = requested.size();
  const bool is_requested =
      rd_kafka_conf_get(conf, "debug", requested.data(), &size) == RD_KAFKA_CONF_OK && requested[0] != '\0';
  const std::string contexts = is_requested ? std::string{"topic,"} + requested.data() : "topic";
  std::array<char, 256> error{};
  rd_kafka_conf_set(conf, "debug", contexts.c_str(), error.data(), error.size());
  return is_requested;
}

void RecreatedTopics::read_line(std::string_view line) {
  const auto after = line.find(after_name);
  if (after == std::string_view::npos) return;
  const auto before = line.rfind(before_name, after);
  if (before == std::string_view::npos) return;
  const auto begin = before + before_name.size();
  const std::string name{line.substr(begin, after - begin)};
  const std::string_view ids = line.substr(after + after_name.size());
  const auto at_new = ids.find(before_id);
  const base::Lock lock{mutex_};
  if (at_new != std::string_view::npos) ids_[name] = ids.substr(at_new + before_id.size(), id_length);
  if (ids.starts_with(no_id)) return;
  names_.push_back(name);
  count_ = names_.size();
}

std::string RecreatedTopics::id_of(const std::string& topic) const {
  const base::Lock lock{mutex_};
  const auto found = ids_.find(topic);
  return found == ids_.end() ? std::string{} : found->second;
}

std::vector<std::string> RecreatedTopics::since(std::size_t& seen) const {
  if (count_ == seen) return {};
  const base::Lock lock{mutex_};
  std::vector<std::string> out{names_.begin() + static_cast<std::ptrdiff_t>(seen), names_.end()};
  seen = names_.size();
  return out;
}

}  // namespace inboxd::consumer
