# native/cmake/InstalledTorch.cmake
# The torch of the interpreter that builds, as targets `torch_cpu`, `c10` and `torch_python`. find_package(Torch) is not
# asked: where torch is a CUDA build it asks for a CUDA toolkit, of which nothing here is used.
#
# Sets TORCH_INSTALL_PREFIX, TORCH_INCLUDE_DIRS, Torch_VERSION, TORCH_COMPILE_OPTIONS, and TORCH_OPENMP with GCC.

# FindPython does not run the interpreter when it cross-compiles; that of the target runs under qemu (tools/aarch64.py).
if(CMAKE_CROSSCOMPILING)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c
            "import sysconfig; print(sysconfig.get_path('include'), sysconfig.get_config_var('SOABI'), sep=';')"
    OUTPUT_VARIABLE TARGET_PYTHON OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(GET TARGET_PYTHON 0 Python3_INCLUDE_DIR)
  list(GET TARGET_PYTHON 1 Python3_SOABI)
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter Development.Module)

# Found without importing it, which would load torch_npu and with it CANN. pip hides the environment's packages from a
# build, so its folder is asked as well as the path.
execute_process(
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/installed_torch.py
  OUTPUT_VARIABLE TORCH_INSTALL_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT EXISTS ${TORCH_INSTALL_PREFIX}/version.py)
  message(FATAL_ERROR "${Python3_EXECUTABLE} has no torch: install torch and torch_npu there, or name another "
                      "interpreter with -DPython3_EXECUTABLE=")
endif()
file(STRINGS ${TORCH_INSTALL_PREFIX}/version.py Torch_VERSION REGEX "^__version__ ")
string(REGEX REPLACE ".*'([0-9]+\\.[0-9]+\\.[0-9]+).*" "\\1" Torch_VERSION "${Torch_VERSION}")
message(STATUS "Found torch ${Torch_VERSION}: ${TORCH_INSTALL_PREFIX}")

# An installed package has torch beside it. A source tree gets this link to it; a wheel is made without the link.
install(CODE "set(TOOLKIT \${CMAKE_INSTALL_PREFIX}/${OPWRIGHT_TOOLKIT})
              file(MAKE_DIRECTORY \${TOOLKIT})
              file(CREATE_LINK ${TORCH_INSTALL_PREFIX} \${TOOLKIT}/torch SYMBOLIC)"
        COMPONENT tree)

# Messages of failed checks name source files and headers: relative to the sources and to the environment, not with the
# folders of this machine.
get_filename_component(TORCH_SITE ${TORCH_INSTALL_PREFIX} DIRECTORY)
set(TORCH_COMPILE_OPTIONS -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -ffile-prefix-map=${TORCH_SITE}/=)

set(TORCH_INCLUDE_DIRS ${TORCH_INSTALL_PREFIX}/include ${TORCH_INSTALL_PREFIX}/include/torch/csrc/api/include)
foreach(LIBRARY c10 torch_cpu torch_python)
  find_library(TORCH_${LIBRARY} ${LIBRARY} PATHS ${TORCH_INSTALL_PREFIX}/lib NO_DEFAULT_PATH REQUIRED)
  add_library(${LIBRARY} SHARED IMPORTED GLOBAL)
  set_target_properties(${LIBRARY} PROPERTIES IMPORTED_LOCATION ${TORCH_${LIBRARY}})
endforeach()
# Its headers declare what its wheels were built with. Without AT_PER_OPERATOR_HEADERS many of them include all operators
# (ATen/Functions.h), which costs a second and more in each unit.
target_compile_definitions(torch_cpu INTERFACE
  USE_DISTRIBUTED USE_C10D_GLOO USE_RPC USE_TENSORPIPE AT_PER_OPERATOR_HEADERS)
target_link_libraries(torch_cpu INTERFACE c10)
# Where pybind11 is old it looks torch's classes up under a name with the compiler's ABI. torch.utils.cpp_extension takes
# torch's name as well; later ABIs of GCC are compatible with it.
file(STRINGS ${TORCH_torch_python} TORCH_PYBIND11 REGEX "__pybind11_internals_v[0-9]+_gcc_libstdcpp_cxxabi[0-9]+__")
if(TORCH_PYBIND11 MATCHES "_gcc_libstdcpp(_cxxabi[0-9]+)__")
  target_compile_definitions(torch_python INTERFACE PYBIND11_BUILD_ABI="${CMAKE_MATCH_1}")
endif()
target_compile_features(torch_cpu INTERFACE cxx_std_20)  # its headers ask for it where it is recent
# The OpenMP that libtorch runs its threads with; other compilers than GCC have calls for another.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  file(GLOB TORCH_OPENMP ${TORCH_INSTALL_PREFIX}/lib/libgomp*)
endif()
