# Finds LibTorch's headers, torch_cpu and c10, and nothing else: the PyPI wheel's own package file asks for a whole CUDA
# toolkit, which a machine without a GPU does not have. The CUDA libraries are loaded at run time (core/device.cpp).
#
# Looked for in CMAKE_PREFIX_PATH, the variable or the environment's (an unpacked LibTorch, a site-packages/torch folder, or
# torch.utils.cmake_prefix_path), then in the virtual environment VITRINE_VENV. Defines the imported target LibTorch::LibTorch.
file(GLOB _libtorch_venv "${VITRINE_VENV}/lib/python3*/site-packages/torch")
set(_libtorch_roots "")
string(REPLACE ":" ";" _libtorch_environment "$ENV{CMAKE_PREFIX_PATH}")
foreach(_prefix IN LISTS CMAKE_PREFIX_PATH _libtorch_environment)
  list(APPEND _libtorch_roots "${_prefix}" "${_prefix}/../..")
endforeach()

find_path(LibTorch_INCLUDE_DIR ATen/ATen.h HINTS ${_libtorch_roots} ${_libtorch_venv} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(LibTorch_CPU_LIBRARY torch_cpu HINTS ${_libtorch_roots} ${_libtorch_venv} PATH_SUFFIXES lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 HINTS ${_libtorch_roots} ${_libtorch_venv} PATH_SUFFIXES lib NO_DEFAULT_PATH)
if(LibTorch_INCLUDE_DIR AND EXISTS "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h")
  set(LibTorch_VERSION "")
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h" _libtorch_line REGEX "define TORCH_VERSION_${part} ")
    string(REGEX MATCH "[0-9]+" _libtorch_number "${_libtorch_line}")
    list(APPEND LibTorch_VERSION "${_libtorch_number}")
  endforeach()
  list(JOIN LibTorch_VERSION "." LibTorch_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "run installer/run, or name a LibTorch with -DCMAKE_PREFIX_PATH=DIR")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  get_filename_component(_libtorch_lib "${LibTorch_CPU_LIBRARY}" DIRECTORY)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE "${LibTorch_INCLUDE_DIR}")
  target_link_libraries(LibTorch::LibTorch INTERFACE "${LibTorch_CPU_LIBRARY}" "${LibTorch_C10_LIBRARY}")
  # torch_cpu finds its own companions through its run path, so the linker need not see them.
  target_link_options(LibTorch::LibTorch INTERFACE -Wl,--allow-shlib-undefined -Wl,-rpath,${_libtorch_lib})
endif()
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY)
