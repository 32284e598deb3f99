#include "verify/state_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/socket.hpp"
#include "operations/operation.hpp"

namespace inboxd::verify {

using operations::Document;

namespace {

/// Writes the file and waits until the disk has it: else the renamed file may be empty after a crash of the machine.
/// Returns whether the disk has it.
bool write_durably(const std::string& name, const std::string& text) {
  const base::Socket file{::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
  if (file.get() < 0) return false;
  for (std::string_view left = text; !left.empty();) {
    const ssize_t written = ::write(file.get(), left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(file.get()) == 0;
}

}  // namespace

base::Result<StateFile> StateFile::read(const std::string& name) {
  StateFile out;
  out.name_ = name;
  if (name.empty() || !std::filesystem::exists(name)) return out;
  const base::Problem problem{"--state " + name + ": not a state of `verify`; name another file, or remove it"};
  std::ifstream in{name};
  if (!in || !std::filesystem::is_regular_file(name)) return problem;
  const auto document = Document::parse(in, nullptr, false);
  if (!document.is_object() || !document.contains("partitions") || !document.at("partitions").is_object()) {
    return problem;
  }
  for (const auto& [place, value] : document.at("partitions").items()) {
    const auto slash = place.rfind('/');
    if (slash == std::string::npos || !value.is_object()) return problem;
    const auto log = value.find("log");
    const auto offset = value.find("verified_to");
    if (log == value.end() || !log->is_string() || offset == value.end() || !offset->is_number_integer())
      return problem;
    int partition = 0;
    if (std::sscanf(place.c_str() + slash + 1, "%d", &partition) != 1) return problem;
    out.places_[{place.substr(0, slash), partition}] = {log->get<std::string>(), offset->get<std::int64_t>()};
  }
  return out;
}

std::int64_t StateFile::verified_to(const kafka::TopicPartition& partition, const std::string& log) const {
  const auto found = places_.find(partition);
  return found == places_.end() || found->second.log != log ? 0 : found->second.offset;
}

bool StateFile::is_of_other(const kafka::TopicPartition& partition, const std::string& log) const {
  const auto found = places_.find(partition);
  return found != places_.end() && found->second.log != log;
}

void StateFile::set(const kafka::TopicPartition& partition, const std::string& log, std::int64_t offset) {
  places_[partition] = {log, offset};
}

base::Result<bool> StateFile::write() const {
  if (name_.empty()) return true;
  Document partitions = Document::object();
  for (const auto& [partition, place] : places_) {
    partitions[kafka::text_of(partition)] = {{"log", place.log}, {"verified_to", place.offset}};
  }
  const std::string next = name_ + ".new";
  if (!write_durably(next, Document{{"partitions", std::move(partitions)}}.dump(2) + '\n')) {
    return base::Problem{"--state " + name_ + ": cannot be written: " + std::generic_category().message(errno)};
  }
  std::error_code error;
  std::filesystem::rename(next, name_, error);
  if (error) return base::Problem{"--state " + name_ + ": " + error.message()};
  return true;
}

}  // namespace inboxd::verify
