# torch_aie-config.cmake: find_package(torch_aie) gives torch_aie::torch_aie, with libtorch, and torch_aie::ascendie.
# Torch_DIR names another libtorch than the one beside it. find_package(Torch) is not called: where torch is a CUDA build,
# it asks for a CUDA toolkit, of which nothing here is used. What a project has found before is taken; the targets have
# names of their own, so that a project can find Torch afterwards, too.
get_filename_component(_AIE_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." REALPATH)
if(NOT TARGET torch)
  set(_AIE_TORCH "${_AIE_PREFIX}/lib/torch")
  if(Torch_DIR)
    set(_AIE_TORCH "${Torch_DIR}/../../..")
  elseif(EXISTS "${_AIE_PREFIX}/../torch/lib")  # both are in one site-packages
    set(_AIE_TORCH "${_AIE_PREFIX}/../torch")
  endif()
  get_filename_component(_AIE_TORCH "${_AIE_TORCH}" REALPATH)
  set(TORCH_INCLUDE_DIRS "${_AIE_TORCH}/include" "${_AIE_TORCH}/include/torch/csrc/api/include")
  foreach(_AIE_NAME c10 torch_cpu torch)
    if(NOT TARGET torch_aie::${_AIE_NAME})
      add_library(torch_aie::${_AIE_NAME} SHARED IMPORTED)
    endif()
    set_target_properties(torch_aie::${_AIE_NAME} PROPERTIES
      IMPORTED_LOCATION "${_AIE_TORCH}/lib/lib${_AIE_NAME}.so"
      INTERFACE_INCLUDE_DIRECTORIES "${TORCH_INCLUDE_DIRS}")
  endforeach()
  set(TORCH_LIBRARIES torch_aie::torch torch_aie::torch_cpu torch_aie::c10)
  unset(_AIE_TORCH)
endif()

foreach(_AIE_NAME ascendie torch_aie)
  if(NOT TARGET torch_aie::${_AIE_NAME})
    add_library(torch_aie::${_AIE_NAME} SHARED IMPORTED)
    set_target_properties(torch_aie::${_AIE_NAME} PROPERTIES
      IMPORTED_LOCATION "${_AIE_PREFIX}/lib/lib${_AIE_NAME}.so"
      INTERFACE_INCLUDE_DIRECTORIES "${_AIE_PREFIX}/include")
  endif()
endforeach()
set_target_properties(torch_aie::torch_aie PROPERTIES
  INTERFACE_LINK_LIBRARIES "torch_aie::ascendie;${TORCH_LIBRARIES}"
  INTERFACE_COMPILE_FEATURES cxx_std_20)
unset(_AIE_NAME)
unset(_AIE_PREFIX)
