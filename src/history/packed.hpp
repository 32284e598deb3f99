#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "history/series.hpp"

/// The last hour of an instance in steps of a minute, for its row in table `instance`. A value keeps about 1 %, and
/// whole numbers below 90 are exact. Pure.
namespace inboxd::history {

inline constexpr std::int64_t minute_step = 60;  ///< seconds
inline constexpr std::size_t max_minutes = 60;
inline constexpr std::size_t max_packed_bytes = 8'192;

/// The complete minutes of the hour, which is a view of Span::hour.
View minutes_of(const View& hour);

/// Of minutes that do not fit, the oldest are left out; then all but the failures; empty if that does not fit, either.
std::string pack(const View& minutes);
/// nullopt: the bytes are not as pack() writes them, as those of another release or of a stranger may be.
std::optional<View> unpack(std::string_view bytes);

}  // namespace inboxd::history
