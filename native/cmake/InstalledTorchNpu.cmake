# native/cmake/InstalledTorchNpu.cmake
# The torch_npu beside the torch that InstalledTorch.cmake has found. Sets TORCH_NPU_PREFIX.
find_path(TORCH_NPU_PREFIX include/torch_npu PATHS ${TORCH_INSTALL_PREFIX}/../torch_npu NO_DEFAULT_PATH REQUIRED)

# op-plugin's headers take the oldest torch unless they get the version.
string(REGEX REPLACE "^([0-9]+)\\.([0-9]+).*" "V\\1R\\2" TORCH_GENERATION ${Torch_VERSION})

# opwright_npu_headers(<target>): the headers of torch_npu and the public ones of CANN, which native/abi would hide.
function(opwright_npu_headers NAME)
  set(NPU_INCLUDE ${TORCH_NPU_PREFIX}/include)
  set_target_properties(${NAME} PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/native)
  target_include_directories(${NAME} SYSTEM PRIVATE ${Python3_INCLUDE_DIRS} ${TORCH_INCLUDE_DIRS} ${NPU_INCLUDE}
    ${NPU_INCLUDE}/third_party/op-plugin ${NPU_INCLUDE}/third_party/acl/inc ${NPU_INCLUDE}/third_party/hccl/inc)
  target_compile_features(${NAME} PRIVATE cxx_std_20)
  target_compile_definitions(${NAME} PRIVATE CURRENT_VERSION=${TORCH_GENERATION})
endfunction()
