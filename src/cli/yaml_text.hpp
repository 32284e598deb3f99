#pragma once
#include <string>
#include <string_view>

namespace inboxd::cli {

/// A value of a configuration file: plain if that is safe, else in double quotes; `$` is doubled.
std::string yaml_value(std::string_view text);
/// The lines with that indent, for a block scalar; `$` is doubled.
std::string yaml_block(std::string_view text, const std::string& indent);
/// A comment, in lines of at most 120 columns; `hang` indents the text of all lines but the first.
std::string yaml_comment(std::string_view text, const std::string& indent = "", const std::string& hang = "");

}  // namespace inboxd::cli
