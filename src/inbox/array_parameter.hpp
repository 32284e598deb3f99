#pragma once
#include <arpa/inet.h>
#include <endian.h>

#include <cstdint>
#include <cstring>
#include <pqxx/pqxx>
#include <string>

#include "base/uuid.hpp"
#include "event/record.hpp"

namespace inboxd::inbox {

/// Microseconds from the Unix epoch to PostgreSQL's (2000-01-01).
inline constexpr std::int64_t postgres_epoch_us = 946'684'800'000'000;

/// A one-dimensional array parameter in PostgreSQL's binary format, built element by element.
class ArrayParameter {
 public:
  enum class Type : std::uint32_t { bytea = 17, int8 = 20, int4 = 23, text = 25, timestamptz = 1184, uuid = 2950 };

  /// `bytes`: the expected size, to allocate once.
  explicit ArrayParameter(Type type, std::size_t bytes = 0) {
    data_.reserve(header_size + bytes);
    number(1);
    number(0);
    number(static_cast<std::uint32_t>(type));
    number(0);
    number(1);
  }

  void add(std::string_view bytes) {
    number(static_cast<std::uint32_t>(bytes.size()));
    data_.append(bytes);
    ++count_;
  }
  void add(const std::string& text) { add(std::string_view{text}); }
  void add(const event::MaybeBytes& bytes) { bytes ? add(*bytes) : add_null(); }
  void add(const base::Uuid& uuid) { add(std::string_view{reinterpret_cast<const char*>(uuid.bytes.data()), 16}); }
  void add(std::int32_t value) {
    number(4);
    number(static_cast<std::uint32_t>(value));
    ++count_;
  }
  void add(std::int64_t value) {
    number(8);
    const std::uint64_t wire = htobe64(static_cast<std::uint64_t>(value));
    data_.append(reinterpret_cast<const char*>(&wire), 8);
    ++count_;
  }
  void add_time(event::Microseconds unix_us) { add(unix_us - postgres_epoch_us); }
  void add_time(const std::optional<event::Microseconds>& unix_us) { unix_us ? add_time(*unix_us) : add_null(); }
  void add_null() {
    ++nulls_;
    number(static_cast<std::uint32_t>(-1));
    ++count_;
  }

  /// Returns the finished array, valid as long as this object; nothing may be added afterwards. An array of nulls alone
  /// is sent empty: for it, too, unnest together with longer arrays, and subscripts, yield null.
  pqxx::bytes_view finish() {
    if (count_ == nulls_) {
      put(0, 0);
      data_.resize(header_size_of_empty);
    } else {
      put(4, nulls_ > 0 ? 1 : 0);
      put(12, count_);
    }
    return {reinterpret_cast<const std::byte*>(data_.data()), data_.size()};
  }

 private:
  static constexpr std::size_t header_size = 20;
  static constexpr std::size_t header_size_of_empty = 12;

  void number(std::uint32_t value) {
    const std::uint32_t wire = htonl(value);
    data_.append(reinterpret_cast<const char*>(&wire), 4);
  }
  void put(std::size_t at, std::uint32_t value) {
    const std::uint32_t wire = htonl(value);
    std::memcpy(data_.data() + at, &wire, 4);
  }

  std::string data_;
  std::uint32_t count_ = 0;
  std::uint32_t nulls_ = 0;
};

template <class Element>
ArrayParameter array_of(ArrayParameter::Type type, const std::vector<Element>& elements) {
  ArrayParameter out{type, elements.size() * 20};
  for (const Element& element : elements) out.add(element);
  return out;
}

}  // namespace inboxd::inbox
