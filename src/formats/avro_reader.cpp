#include "formats/avro_reader.hpp"

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "base/text.hpp"
#include "formats/avro_logical.hpp"
#include "formats/json_pieces.hpp"

namespace inboxd::formats {
namespace {

using Kind = AvroType::Kind;
using Logical = AvroType::Logical;

/// Of values in each other, which a circle of types allows.
constexpr int max_value_depth = 200;

class Reader final {
 public:
  Reader(const AvroSchema& schema, std::string_view bytes, config::JsonForm form, std::size_t max_bytes,
         std::string& out)
      : schema_{schema}, rest_{bytes}, is_plain_{form == config::JsonForm::plain}, max_bytes_{max_bytes}, out_{out} {}

  std::string read() {
    if (!value(schema_.root, 0)) return place_.empty() ? problem_ : "at " + place_ + ": " + problem_;
    return rest_.empty() ? "" : std::to_string(rest_.size()) + " bytes follow the value";
  }

 private:
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  /// Fails below this name.
  bool fail_in(std::string_view quoted) {
    quoted = quoted.substr(1, quoted.rfind('"') - 1);
    if (place_.size() < 200) place_.insert(0, "/" + base::escape_controls(base::shorten(quoted, 40)));
    return false;
  }

  bool take(std::size_t size, std::string_view& out) {
    if (size > rest_.size()) return fail("the bytes end within the value");
    out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  bool number(std::int64_t& out) {
    std::uint64_t bits = 0;
    for (int shift = 0;; shift += 7) {
      if (rest_.empty()) return fail("the bytes end within a number");
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) return fail("a number has more than 64 bits");
      bits |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) == 0) break;
    }
    out = static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
    return true;
  }

  bool sized(std::string_view& out) {
    std::int64_t size = 0;
    if (!number(size)) return false;
    if (size < 0) return fail("a length is below zero");
    return take(static_cast<std::size_t>(size), out);
  }

  bool value(std::size_t index, int depth) {
    if (out_.size() > max_bytes_) return fail("its JSON has more than " + std::to_string(max_bytes_) + " bytes");
    if (depth > max_value_depth) return fail("it is nested more than " + std::to_string(max_value_depth) + " deep");
    const AvroType& type = schema_.types[index];
    switch (type.kind) {
      case Kind::null_value: out_ += "null"; return true;
      case Kind::boolean: return flag();
      case Kind::int32:
      case Kind::int64: return whole(type);
      case Kind::float32: return real<float, std::uint32_t>();
      case Kind::float64: return real<double, std::uint64_t>();
      case Kind::bytes:
      case Kind::fixed: return bytes(type);
      case Kind::string: return text();
      case Kind::record: return record(type, depth);
      case Kind::enumeration: return symbol(type);
      case Kind::array: return blocks(type, depth, '[', ']');
      case Kind::map: return blocks(type, depth, '{', '}');
      case Kind::choice: return choice(type, depth);
    }
    return fail("its type is unknown");
  }

  bool flag() {
    std::string_view byte;
    if (!take(1, byte)) return false;
    if (static_cast<unsigned char>(byte[0]) > 1) return fail("a boolean is neither 0 nor 1");
    out_ += byte[0] == 1 ? "true" : "false";
    return true;
  }

  bool whole(const AvroType& type) {
    std::int64_t number_here = 0;
    if (!number(number_here)) return false;
    using Int = std::numeric_limits<std::int32_t>;
    if (type.kind == Kind::int32 && (number_here < Int::min() || number_here > Int::max())) {
      return fail("an int has more than 32 bits");
    }
    if (is_plain_ && type.logical != Logical::none) {
      append_time(out_, type.logical, number_here);
      return true;
    }
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, number_here).ptr);
    return true;
  }

  template <class Real, class Bits>
  bool real() {
    std::string_view raw;
    if (!take(sizeof(Bits), raw)) return false;
    Bits bits = 0;
    for (std::size_t i = 0; i < sizeof(Bits); ++i) bits |= Bits{static_cast<unsigned char>(raw[i])} << (8 * i);
    append_real(out_, std::bit_cast<Real>(bits));
    return true;
  }

  bool bytes(const AvroType& type) {
    std::string_view raw;
    if (!(type.kind == Kind::fixed ? take(type.size, raw) : sized(raw))) return false;
    if (!is_plain_) {
      append_latin(out_, raw);
    } else if (type.logical == Logical::decimal) {
      return append_decimal(out_, raw, type.scale) ||
             fail("a decimal has more than " + std::to_string(max_decimal_bytes) + " bytes");
    } else if (type.logical == Logical::uuid) {
      append_uuid(out_, raw);
    } else if (type.logical == Logical::duration) {
      append_duration(out_, raw);
    } else {
      append_base64(out_, raw);
    }
    return true;
  }

  bool text() {
    std::string_view raw;
    if (!sized(raw)) return false;
    if (!base::is_utf8(raw)) return fail("a string is not UTF-8");
    base::append_json_quoted(out_, raw);
    return true;
  }

  bool record(const AvroType& type, int depth) {
    out_ += '{';
    bool is_first = true;
    for (const AvroType::Field& field : type.fields) {
      if (!is_first) out_ += ',';
      is_first = false;
      out_ += field.name;
      if (!value(field.type, depth + 1)) return fail_in(field.name);
    }
    out_ += '}';
    return true;
  }

  bool symbol(const AvroType& type) {
    std::int64_t at = 0;
    if (!number(at)) return false;
    if (at < 0 || static_cast<std::uint64_t>(at) >= type.symbols.size()) return fail("an enum has no such symbol");
    out_ += type.symbols[static_cast<std::size_t>(at)];
    return true;
  }

  /// An array or a map: blocks, each with its count, until an empty block.
  bool blocks(const AvroType& type, int depth, char begin, char end) {
    out_ += begin;
    bool is_first = true;
    while (true) {
      std::int64_t count = 0, size = 0;
      if (!number(count)) return false;
      if (count == 0) break;
      if (count == std::numeric_limits<std::int64_t>::min()) return fail("the count of a block is out of range");
      if (count < 0) {  // its size in bytes follows, which a reader that skips it needs
        count = -count;
        if (!number(size)) return false;
      }
      for (; count > 0; --count) {
        if (!is_first) out_ += ',';
        is_first = false;
        if (type.kind == Kind::map) {
          if (!text()) return false;
          out_ += ':';
        }
        if (!value(type.inner[0], depth + 1)) return false;
      }
    }
    out_ += end;
    return true;
  }

  bool choice(const AvroType& type, int depth) {
    std::int64_t at = 0;
    if (!number(at)) return false;
    if (at < 0 || static_cast<std::uint64_t>(at) >= type.inner.size()) return fail("a union has no such branch");
    const std::size_t branch = type.inner[static_cast<std::size_t>(at)];
    const AvroType& inner = schema_.types[branch];
    if (is_plain_ || inner.kind == Kind::null_value) return value(branch, depth + 1);
    out_ += '{';
    out_ += inner.name;
    if (!value(branch, depth + 1)) return false;
    out_ += '}';
    return true;
  }

  const AvroSchema& schema_;
  std::string_view rest_;
  const bool is_plain_;
  const std::size_t max_bytes_;
  std::string& out_;
  std::string problem_, place_;
};

}  // namespace

std::string read_avro(const AvroSchema& schema, std::string_view bytes, config::JsonForm form, std::size_t max_bytes,
                      std::string& out) {
  out.clear();
  std::string problem = Reader{schema, bytes, form, max_bytes, out}.read();
  if (problem.empty() && out.size() > max_bytes) {
    problem = "its JSON has more than " + std::to_string(max_bytes) + " bytes";
  }
  return problem;
}

}  // namespace inboxd::formats
