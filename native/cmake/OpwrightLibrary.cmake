# native/cmake/OpwrightLibrary.cmake
# How libraries of the twin and their parts are made: same warnings, same visibility, same place in the toolkit root.

# Files are compiled several at a time: most of the compiler's time goes into headers and templates that the next file
# needs as well. So a name in an unnamed namespace is the only one of its library. Files with options of their own are
# compiled alone; -DCMAKE_UNITY_BUILD=OFF compiles every file alone.
option(CMAKE_UNITY_BUILD "Compile several files of a library at a time" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)

# opwright_library(<name> SOURCES <files...> [LINK <targets...>])
# Makes lib<name>.so with that SONAME (torch_npu names CANN's libraries by it, without a version).
function(opwright_library NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${NAME} SHARED ${ARG_SOURCES})
  opwright_compile_rules(${NAME})
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(${NAME} PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH OFF)
  install(TARGETS ${NAME} LIBRARY DESTINATION ${OPWRIGHT_TOOLKIT}/lib64)
endfunction()

# opwright_objects(<name> SOURCES <files...>): a part of a library that has a folder of its own.
function(opwright_objects NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  add_library(${NAME} OBJECT ${ARG_SOURCES})
  opwright_compile_rules(${NAME})
endfunction()

function(opwright_compile_rules NAME)
  target_include_directories(${NAME} PRIVATE ${PROJECT_SOURCE_DIR}/native ${PROJECT_SOURCE_DIR}/native/abi)
  target_compile_features(${NAME} PRIVATE cxx_std_17)
  target_compile_options(${NAME} PRIVATE -Wall -Wextra -Werror ${OPWRIGHT_SANITIZE_FLAGS})
  target_link_options(${NAME} PRIVATE ${OPWRIGHT_SANITIZE_FLAGS})
  set_target_properties(${NAME} PROPERTIES
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
endfunction()
