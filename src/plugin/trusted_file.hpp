#pragma once
#include <string>

#include "base/result.hpp"
#include "base/socket.hpp"

namespace inboxd::plugin {

/// A trusted file, open for reading.
struct TrustedFile {
  std::string path;  ///< without links and dots
  base::Socket descriptor;
};

/// Opens the file if code may be loaded from it: a regular file of root or the daemon's user, in a folder of either, on
/// a file system without noexec. Neither the file nor a folder on the way, links included, is world-writable; a sticky
/// folder (/tmp) passes if its entry belongs to root or the daemon's user. Group rights are not checked. The checked
/// file is the open file: each step starts at the previous descriptor. The problem names the remedy.
base::Result<TrustedFile> open_trusted(const std::string& path);

/// A sealed copy of the file in memory. Refused if the file changes meanwhile or is a truncated shared object.
base::Result<base::Socket> copy_to_memory(const TrustedFile& file);

/// Whether both files have the same content. False if either cannot be read.
bool have_same_bytes(int one, int other);

}  // namespace inboxd::plugin
