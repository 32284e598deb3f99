# inboxd_add_handler(NAME sources...) builds NAME.so, a plugin for inboxd. Its sources include <inboxd/handler.h> or
# <inboxd/handler.hpp>. Only the entry function is visible from outside.
function(inboxd_add_handler NAME)
  add_library(${NAME} MODULE ${ARGN})
  target_link_libraries(${NAME} PRIVATE inboxd::handler)
  set_target_properties(${NAME} PROPERTIES PREFIX "" SUFFIX ".so" POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  get_property(LANGUAGES GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST LANGUAGES)
    target_compile_features(${NAME} PRIVATE c_std_99)
  endif()
  if("CXX" IN_LIST LANGUAGES)
    target_compile_features(${NAME} PRIVATE cxx_std_17)
  endif()
endfunction()
