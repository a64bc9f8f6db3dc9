# The picture formats: the libraries that OpenCV's imgcodecs itself stands on, used directly where imdecode loses something.
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(TIFF REQUIRED)
find_package(GIF REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp libwebpdemux)
target_link_libraries(vitrine_core PRIVATE JPEG::JPEG PNG::PNG ZLIB::ZLIB TIFF::TIFF GIF::GIF PkgConfig::WEBP)

# HEIC and AVIF only where libheif is there; without it they are named and refused.
pkg_check_modules(HEIF IMPORTED_TARGET libheif)
if(HEIF_FOUND)
  target_link_libraries(vitrine_core PRIVATE PkgConfig::HEIF)
  target_compile_definitions(vitrine_core PRIVATE VITRINE_WITH_HEIF)
endif()

# Its loops are written for the vectoriser, which -O2 keeps back.
set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/image/resize.cpp" PROPERTIES COMPILE_OPTIONS "-O3")
