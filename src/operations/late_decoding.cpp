#include "operations/late_decoding.hpp"

#include <algorithm>

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "operations/quarantine_queries.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

constexpr std::size_t letters_at_once = 25;  // payload and JSON of a single one may be megabytes

}  // namespace

void LateDecoding::run(const std::vector<std::int64_t>& dead_letter_ids) {
  std::vector<std::string> topics;
  for (const std::string& topic : topics_of_undecoded(*context_.connection, dead_letter_ids)) {
    const auto* const found = topics_.find(topic);
    if (found != nullptr && decoders_.of(*found) != nullptr) topics.push_back(topic);
  }
  if (topics.empty()) return;
  for (std::size_t at = 0; at < dead_letter_ids.size(); at += letters_at_once) {
    const auto from = dead_letter_ids.begin() + static_cast<std::ptrdiff_t>(at);
    const auto count = std::min(letters_at_once, dead_letter_ids.size() - at);
    decode({from, from + static_cast<std::ptrdiff_t>(count)}, topics);
  }
}

void LateDecoding::decode(const std::vector<std::int64_t>& dead_letter_ids, const std::vector<std::string>& topics) {
  base::Arena arena;
  inbox::ArrayParameter ids{inbox::ArrayParameter::Type::int8}, values{inbox::ArrayParameter::Type::bytea};
  const auto letters = read_undecoded(*context_.connection, dead_letter_ids, topics);
  bool has_any = false;
  for (const RawRecord& letter : letters) {
    const auto decoded = decoders_.of(*topics_.find(letter.topic))->decode(record_of(letter), arena);
    if (!decoded.is_usable() || !decoded.value) continue;
    ids.add(letter.quarantine_id);
    values.add(*decoded.value);
    has_any = true;
  }
  if (!has_any) return;
  const pqxx::params parameters{ids.finish(), values.finish()};
  context_.connection->access().run(inbox::statements::op_dead_decoded, parameters,
                                    inbox::Connection::Access::Effect::writes);
}

}  // namespace inboxd::operations
