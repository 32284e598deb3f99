# Embeds sql/: statements.hpp names every file of sql/queries; embedded.cpp has their texts, the migrations, and the
# functions and views; functions_and_views_release.hpp has the release of the latter.
file(GLOB QUERY_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/queries/*.sql)
file(GLOB MIGRATION_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/migrations/*.sql)
file(GLOB FUNCTION_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/functions/*.sql)
file(GLOB VIEW_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/sql/views/*.sql)

# PostgreSQL parses the body of an SQL function when it creates the function, so the functions called by it come first.
# PL/pgSQL bodies are parsed at run time. Views call functions and come last.
set(FIRST_FUNCTIONS new_message_id pack_header matches text_or_null stored_at is_in_window)
list(TRANSFORM FIRST_FUNCTIONS PREPEND ${CMAKE_SOURCE_DIR}/sql/functions/)
list(TRANSFORM FIRST_FUNCTIONS APPEND .sql)
list(REMOVE_ITEM FUNCTION_FILES ${FIRST_FUNCTIONS})
set(REPEATABLE_FILES ${FIRST_FUNCTIONS} ${FUNCTION_FILES} ${VIEW_FILES})

set(REVISION_FILE ${CMAKE_SOURCE_DIR}/sql/revision)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${QUERY_FILES} ${MIGRATION_FILES} ${REPEATABLE_FILES}
  ${REVISION_FILE})

set(HEADER "#pragma once\n#include \"inbox/statement.hpp\"\n\nnamespace inboxd::inbox::statements {\n")
set(SOURCE "#include \"statements.hpp\"\n\nnamespace inboxd::inbox {\nnamespace statements {\n")
foreach(FILE ${QUERY_FILES})
  get_filename_component(NAME ${FILE} NAME_WE)
  file(READ ${FILE} TEXT)
  string(APPEND HEADER "extern const Statement ${NAME};\n")
  string(APPEND SOURCE "const Statement ${NAME}{\"${NAME}\", R\"sql(${TEXT})sql\"};\n")
endforeach()
string(APPEND HEADER "}  // namespace inboxd::inbox::statements\n")
string(APPEND SOURCE "}  // namespace statements\n\nconst EmbeddedMigration embedded_migrations[] = {\n")
foreach(FILE ${MIGRATION_FILES})
  get_filename_component(NAME ${FILE} NAME_WE)
  file(READ ${FILE} TEXT)
  string(REGEX MATCH "^[0-9]+" NUMBER ${NAME})
  math(EXPR NUMBER "${NUMBER}")
  string(APPEND SOURCE "    {${NUMBER}, \"${NAME}\", R\"sql(${TEXT})sql\"},\n")
endforeach()
string(APPEND SOURCE "};\nconst std::size_t embedded_migration_count = sizeof embedded_migrations / sizeof *embedded_migrations;\n\n")
string(APPEND SOURCE "const char* const embedded_functions_and_views[] = {\n")
foreach(FILE ${REPEATABLE_FILES})
  file(READ ${FILE} TEXT)
  string(APPEND SOURCE "    R\"sql(${TEXT})sql\",\n")
endforeach()
string(APPEND SOURCE "};\nconst std::size_t embedded_functions_and_views_count =\n    sizeof embedded_functions_and_views / sizeof *embedded_functions_and_views;\n}  // namespace inboxd::inbox\n")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/statements.hpp CONTENT "${HEADER}" @ONLY)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded.cpp CONTENT "${SOURCE}" @ONLY)
# Of two builds, the newer build has the greater release, also if both have the same version.
file(STRINGS ${REVISION_FILE} REVISION REGEX "^[0-9]+ ")
string(REGEX MATCH "^[0-9]+" REVISION "${REVISION}")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/functions_and_views_release.hpp CONTENT
  "#pragma once\nnamespace inboxd::inbox {\ninline constexpr const char* functions_and_views_release = INBOXD_VERSION \".${REVISION}\";\n}\n" @ONLY)
set(EMBEDDED ${CMAKE_CURRENT_BINARY_DIR}/embedded.cpp)
