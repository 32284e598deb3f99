#include "kafka/truncation.hpp"

#include <librdkafka/rdkafka.h>

#include <charconv>

namespace inboxd::kafka {
namespace {

constexpr std::string_view before_end = "broker end offset is ";

}  // namespace

std::optional<Truncation> read_truncation(std::string_view error) {
  if (error.find(rd_kafka_err2str(RD_KAFKA_RESP_ERR__LOG_TRUNCATION)) == std::string_view::npos) return std::nullopt;
  Truncation out;
  const auto before = error.find(before_end);
  if (before == std::string_view::npos) return out;
  const std::string_view number = error.substr(before + before_end.size());
  std::int64_t end = -1;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), end);
  if (read.ec == std::errc{} && end >= 0) out.end = end;
  return out;
}

}  // namespace inboxd::kafka
