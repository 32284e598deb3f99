# find_package(inboxd), to build handlers: the target inboxd::handler (the headers) and the function
# inboxd_add_handler. The installed folder can be moved as a whole.
get_filename_component(INBOXD_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET inboxd::handler)
  add_library(inboxd::handler INTERFACE IMPORTED)
  set_target_properties(inboxd::handler PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${INBOXD_PREFIX}/include")
endif()
unset(INBOXD_PREFIX)
include("${CMAKE_CURRENT_LIST_DIR}/inboxdHandler.cmake")
