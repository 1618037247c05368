# native/cmake/Portable.cmake
# Every library is linked so that it also runs on systems older than this one (native/portable/stubs.py says how), in a
# developer's build as well: the wheel has the libraries that were tested.
option(OPWRIGHT_PORTABLE "Link for systems as old as those of torch's wheels" ON)
if(NOT OPWRIGHT_PORTABLE OR OPWRIGHT_SANITIZE OR NOT CMAKE_SYSTEM_NAME STREQUAL Linux)
  return()
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(PORTABLE ${PROJECT_BINARY_DIR}/portable)
file(GLOB PORTABLE_SOURCES CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/native/portable/*.cpp ${PROJECT_SOURCE_DIR}/native/portable/*.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PORTABLE_SOURCES})
execute_process(
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/native/portable/stubs.py --compiler ${CMAKE_CXX_COMPILER}
          --readelf ${CMAKE_READELF} --ar ${CMAKE_AR} --output ${PORTABLE}
  COMMAND_ERROR_IS_FATAL ANY)
# The archive comes first, so that no library provides what is in it: some of torch's export a C++ runtime of their own.
link_libraries(${PORTABLE}/libopwright_portable.a)
add_link_options(-L${PORTABLE} LINKER:--exclude-libs,libopwright_portable.a)
