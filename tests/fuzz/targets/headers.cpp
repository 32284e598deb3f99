// Packed headers of any bytes: the headers that are read can be packed again, and a search finds the same.
#include "event/headers.hpp"

#include "fuzz/target.hpp"

using namespace inboxd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view packed{reinterpret_cast<const char*>(data), size};
  const auto headers = event::unpack_headers(packed);
  const std::string again = event::pack_headers(headers);
  fuzz::require(event::unpack_headers(again) == headers, "packed headers are read as they were");
  fuzz::require(event::packed_size(headers) == again.size(), "the packed size is known before");
  for (const auto& header : headers) {
    const auto found = event::find_packed(packed, header.name);
    fuzz::require(found.has_value() && found->name == header.name, "a search finds each header");
    std::optional<event::Header> last;
    for (const auto& each : headers) {
      if (each.name == header.name) last = each;
    }
    fuzz::require(*found == *last, "a search finds the last header of a name");
  }
  return 0;
}
