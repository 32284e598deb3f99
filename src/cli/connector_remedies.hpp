#pragma once
#include <string>
#include <string_view>

namespace inboxd::cli {

/// What to do about a connector's setting that is not translated.
struct Remedy {
  std::string text;
  bool is_needed = true;  ///< a person has something to do
};
Remedy remedy_for_setting(std::string_view key);

}  // namespace inboxd::cli
