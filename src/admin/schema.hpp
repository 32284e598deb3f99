#pragma once
#include <initializer_list>
#include <string>

#include "admin/operation.hpp"

/// What documents look like, for programs, as JSON schemas in the dialect of OpenAPI 3.1. Pure.
namespace inboxd::admin::schema {

Document text(const std::string& about = "");
Document integer(const std::string& about = "");
Document number(const std::string& about = "");
Document flag(const std::string& about = "");
/// RFC 3339.
Document time(const std::string& about = "");
Document uuid(const std::string& about = "");
/// A text where the bytes are UTF-8, else {"base64": …}.
Document bytes();
/// Whatever it is.
Document anything(const std::string& about);
/// One of these words.
Document word(std::initializer_list<const char*> words);
Document list(Document items);
/// Names of any kind, each with such a value.
Document map(Document values);
/// The component of that name.
Document reference(const std::string& component);
/// The same, or null.
Document or_null(Document schema);
Document any_of(std::initializer_list<Document> schemas);

struct Field {
  std::string name;
  Document schema;
  bool is_always = true;  ///< false: it may be missing
};
/// Further fields may come with later versions.
Document object(std::initializer_list<Field> fields);
/// An object with more fields.
Document extended(Document object, std::initializer_list<Field> fields);

}  // namespace inboxd::admin::schema
