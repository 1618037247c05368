# find_package(ASC), before project(… LANGUAGES ASC): Ascend C as a language of CMake, compiled by the twin's bisheng.
# Variables are those of the vendor's package: CMAKE_ASC_ARCHITECTURES, CMAKE_ASC_STANDARD, CMAKE_ASC_FLAGS …
list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
if(NOT CMAKE_ASC_ARCHITECTURES)
  set(CMAKE_ASC_ARCHITECTURES dav-2201)
endif()
if(CMAKE_ASC_ENABLE_SIMT)
  message(FATAL_ERROR "CMAKE_ASC_ENABLE_SIMT: the twin has no SIMT kernels")
endif()
# CANN has three machines for kernels: the NPU, its simulator, and the host. Here all three are the twin.
if(CMAKE_ASC_RUN_MODE)
  if(NOT CMAKE_ASC_RUN_MODE MATCHES "^(npu|sim|cpu)$")
    message(FATAL_ERROR "CMAKE_ASC_RUN_MODE is ${CMAKE_ASC_RUN_MODE}; allowed: npu, sim, cpu")
  elseif(NOT CMAKE_ASC_RUN_MODE STREQUAL npu)
    message(STATUS "CMAKE_ASC_RUN_MODE is ${CMAKE_ASC_RUN_MODE}: kernels run on the twin, as with npu")
  endif()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/OperatorPackage.cmake")
