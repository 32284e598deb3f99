#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <sstream>
#include <string>

#include "contract/plugin/support.hpp"
#include "header/layout.h"

namespace {

const char* const golden_file = SOURCE_FOLDER "/tests/contract/plugin/layout.golden";

std::string text_of(const layout_entry* entry) {
  std::ostringstream out;
  for (; entry->type != nullptr; ++entry) {
    if (entry->field == nullptr) {
      out << entry->type << " size " << entry->size << '\n';
    } else {
      out << "  " << entry->field << " offset " << entry->offset << " size " << entry->size << '\n';
    }
  }
  return out.str();
}

}  // namespace

TEST_CASE("no field of the handler header has moved") {
  INFO("a released layout never changes: add at the tail, raise INBOXD_ABI_MINOR, and extend the golden file");
  INFO("the header gives:\n" << text_of(layout_c99()));
  CHECK(text_of(layout_c99()) == contract::contents(golden_file));
}

TEST_CASE("C99, C11, C++17 and C++20 see the same layout") {
  CHECK(text_of(layout_c11()) == text_of(layout_c99()));
  CHECK(text_of(layout_cxx17()) == text_of(layout_c99()));
  CHECK(text_of(layout_cxx20()) == text_of(layout_c99()));
}

TEST_CASE("the golden layout lists all fields: they fill their structs without a gap") {
  INFO("a field was added to the header and not to tests/contract/plugin/header/fields.inc");
  std::size_t expected = 0;
  const layout_entry* type = nullptr;
  for (const layout_entry* entry = layout_c99(); entry->type != nullptr; ++entry) {
    if (entry->field == nullptr) {
      if (type != nullptr) CHECK(expected == type->size);
      type = entry;
      expected = 0;
      continue;
    }
    INFO(entry->type << "." << entry->field);
    CHECK(std::strcmp(entry->type, type->type) == 0);
    CHECK(entry->offset == expected);
    expected = entry->offset + entry->size;
  }
  CHECK(expected == type->size);
}
