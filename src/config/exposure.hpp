#pragma once
#include <string>
#include <string_view>

#include "config/settings.hpp"
#include "config/settings_table.hpp"

/// The configuration as others may see it. Lists say which texts are harmless; all others are hidden.
namespace inboxd::config {

/// Of librdkafka's property: of a handler's setting `properties`, too.
Exposure exposure_of_property(std::string_view name);

/// Of a setting of a shipped handler, or of another plugin.
Exposure exposure_of_setting(std::string_view plugin, std::string_view name);

/// Hides texts, and keeps them for search and replace in other texts.
class Hider final {
 public:
  /// `secrets`: texts that came from a form, by key. The Hider refers to them.
  explicit Hider(const Secrets& secrets) : secrets_{secrets} {}

  /// The value of a row; not of a map. A secret is kept as it is, because `written` hides it.
  Value value(const Description& about, Value value, const std::string& key);

  /// An entry of a map: a property of librdkafka, a plugin's setting. `key`: the entry's.
  std::string entry(Exposure exposure, const std::string& text, const std::string& key);

  /// The hidden texts of at least 4 characters that are not shown elsewhere, longest first.
  Texts hidden_texts() const;

 private:
  std::string hide(const std::string& text);
  std::string statement(const std::string& text);
  std::string scalar(Exposure exposure, const std::string& text);
  std::string addresses(const std::string& text);

  const Secrets& secrets_;
  Texts hidden_;
  Texts shown_;
};

/// Hides each of the texts, which are sorted as `hidden_texts` sorts them. A short text is hidden where it is a whole
/// word.
std::string without_texts(std::string text, const Texts& hides);

}  // namespace inboxd::config
