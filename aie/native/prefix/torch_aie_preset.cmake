# torch_aie_preset.cmake: what a project written for the closed product needs, in one option before its own:
#   cmake -C .../cmake/torch_aie_preset.cmake -B build
# It names the folders, lets C++14 and the old ABI meet today's libtorch, and lets CMake 4 take an old minimum. What
# -D gives after it wins.
get_filename_component(_AIE_PREFIX "${CMAKE_CURRENT_LIST_DIR}/.." REALPATH)
set(AIE_TORCH "${_AIE_PREFIX}/lib/torch")
if(EXISTS "${_AIE_PREFIX}/../torch/lib/libtorch.so")  # both are in one site-packages
  get_filename_component(AIE_TORCH "${_AIE_PREFIX}/../torch" REALPATH)
endif()

set(ASCEND_IE_ROOT "${_AIE_PREFIX}" CACHE PATH "libascendie")
set(TORCH_AIE_ROOT "${_AIE_PREFIX}" CACHE PATH "libtorch_aie")
set(TORCH_ROOT "${AIE_TORCH}" CACHE PATH "libtorch")
set(CMAKE_PREFIX_PATH "${_AIE_PREFIX};${AIE_TORCH}" CACHE STRING "for find_package")
# Programs find both in the build tree without LD_LIBRARY_PATH.
set(CMAKE_BUILD_RPATH "${_AIE_PREFIX}/lib;${AIE_TORCH}/lib" CACHE STRING "libraries at run time")
set(CMAKE_POLICY_VERSION_MINIMUM 3.10 CACHE STRING "CMake 4 warns below it and refuses what is below 3.5")
if(CMAKE_VERSION VERSION_LESS 3.19)  # cmake_language(DEFER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${_AIE_PREFIX}/bin/torch_aie_cxx" CACHE STRING "C++20 and the new ABI")
else()
  set(CMAKE_PROJECT_INCLUDE "${_AIE_PREFIX}/cmake/torch_aie_compat.cmake" CACHE FILEPATH "C++20 and the new ABI")
endif()
