#include "config/registered_settings.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/uuid.hpp"
#include "config/secrets.hpp"
#include "config/settings_table.hpp"
#include "config/show.hpp"

namespace inboxd::config {
namespace {

constexpr base::Uuid name_space{};
constexpr std::size_t digest_length = 8;

/// Part of `order` or `topics`, or without effect after the first registration.
bool is_elsewhere(std::string_view key) {
  constexpr std::array<std::string_view, 9> keys{"name",     "aliases",     "start",       "subscribe.topics", "mode",
                                                 "order_by", "order_scope", "missing_key", "on_failure"};
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string digest_of(const std::string& text) {
  return base::uuid_v5(name_space, text).text().substr(0, digest_length);
}

}  // namespace

std::string registered_settings(const Handler& handler) {
  auto keys = nlohmann::json::object();
  for (const Row<Handler>& row : settings_table().handlers) {
    if (is_elsewhere(row.about.key)) continue;
    const Value value = row.get(handler);
    if (const auto* const map = std::get_if<TextMap>(&value)) {
      for (const auto& [name, text] : *map) {
        const std::string key = row.about.key + "." + name;
        keys[key] = digest_of(entry_written(row.about, name, text, handler.secrets, key));
      }
    } else if (is_from_form(handler.secrets, row.about.key, value)) {
      keys[row.about.key] = digest_of(std::string{hidden});
    } else {
      keys[row.about.key] = digest_of(written(row.about, value));
    }
  }
  const nlohmann::json out{{"order", order_text(handler)}, {"topics", handler.topics}, {"keys", std::move(keys)}};
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace inboxd::config
