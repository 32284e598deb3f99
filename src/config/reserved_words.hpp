#pragma once
#include <string>
#include <string_view>

namespace inboxd::config {

/// Words that cannot stand unquoted before a dot in SQL or PL/pgSQL, as the schema's name does in ours: all words of
/// pg_get_keywords() in PostgreSQL 14 to 18 that are not unreserved, and the reserved words of PL/pgSQL.
inline constexpr std::string_view reserved_words =
    " "
    "all analyse analyze and any array as asc asymmetric authorization begin between bigint binary bit boolean "
    "both by case cast char character check coalesce collate collation column concurrently constraint create "
    "cross current_catalog current_date current_role current_schema current_time current_timestamp current_user "
    "dec decimal declare default deferrable desc distinct do else end except execute exists extract false fetch "
    "float for foreach foreign freeze from full grant greatest group grouping having if ilike in initially inner "
    "inout int integer intersect interval into is isnull join json json_array json_arrayagg json_exists "
    "json_object json_objectagg json_query json_scalar json_serialize json_table json_value lateral leading least "
    "left like limit localtime localtimestamp loop merge_action national natural nchar none normalize not notnull "
    "null nullif numeric offset on only or order out outer overlaps overlay placing position precision primary "
    "real references returning right row select session_user setof similar smallint some strict substring "
    "symmetric system_user table tablesample then time timestamp to trailing treat trim true union unique user "
    "using values varchar variadic verbose when where while window with xmlattributes xmlconcat xmlelement "
    "xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable ";

inline bool is_reserved_word(const std::string& word) {
  return reserved_words.find(" " + word + " ") != std::string_view::npos;
}

}  // namespace inboxd::config
