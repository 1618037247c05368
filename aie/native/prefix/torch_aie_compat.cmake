# torch_aie_compat.cmake: lets projects that set C++14 and the old ABI build against today's libtorch, unchanged:
#   cmake -DCMAKE_PROJECT_INCLUDE=.../torch_aie_compat.cmake ...
# torch_aie_preset.cmake does that and more; before CMake 3.19 it takes bin/torch_aie_cxx instead.
# When the project's own lines are done, every target of it gets C++20 and loses the define of the old ABI.
cmake_minimum_required(VERSION 3.19)

function(_torch_aie_modernize DIRECTORY)
  get_property(DEFINITIONS DIRECTORY ${DIRECTORY} PROPERTY COMPILE_DEFINITIONS)
  list(REMOVE_ITEM DEFINITIONS _GLIBCXX_USE_CXX11_ABI=0)
  set_property(DIRECTORY ${DIRECTORY} PROPERTY COMPILE_DEFINITIONS ${DEFINITIONS})
  get_property(TARGETS DIRECTORY ${DIRECTORY} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(TARGET IN LISTS TARGETS)
    get_target_property(TYPE ${TARGET} TYPE)
    if(NOT TYPE MATCHES "^(STATIC_LIBRARY|SHARED_LIBRARY|MODULE_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$")
      continue()
    endif()
    set_property(TARGET ${TARGET} PROPERTY CXX_STANDARD 20)
    get_target_property(DEFINITIONS ${TARGET} COMPILE_DEFINITIONS)
    if(DEFINITIONS)
      list(REMOVE_ITEM DEFINITIONS _GLIBCXX_USE_CXX11_ABI=0)
      set_property(TARGET ${TARGET} PROPERTY COMPILE_DEFINITIONS ${DEFINITIONS})
    endif()
  endforeach()
  get_property(FOLDERS DIRECTORY ${DIRECTORY} PROPERTY SUBDIRECTORIES)
  foreach(FOLDER IN LISTS FOLDERS)
    _torch_aie_modernize(${FOLDER})
  endforeach()
endfunction()

cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL _torch_aie_modernize ${CMAKE_SOURCE_DIR})
