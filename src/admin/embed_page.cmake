# Embeds page/: page_files.cpp has the text of each file of the operators' page.
file(GLOB_RECURSE PAGE_FILES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/page/*.html
  ${CMAKE_CURRENT_SOURCE_DIR}/page/*.css ${CMAKE_CURRENT_SOURCE_DIR}/page/*.js ${CMAKE_CURRENT_SOURCE_DIR}/page/*.svg)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PAGE_FILES})
set(SOURCE "#include \"admin/page.hpp\"\n\nnamespace inboxd::admin {\nconst PageFile page_files[] = {\n")
foreach(FILE ${PAGE_FILES})
  file(RELATIVE_PATH NAME ${CMAKE_CURRENT_SOURCE_DIR}/page ${FILE})
  file(READ ${FILE} TEXT)
  string(APPEND SOURCE "    {\"${NAME}\", R\"page(${TEXT})page\"},\n")
endforeach()
string(APPEND SOURCE "};\nconst std::size_t page_file_count = sizeof page_files / sizeof *page_files;\n}  // namespace inboxd::admin\n")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/page_files.cpp CONTENT "${SOURCE}" @ONLY)
