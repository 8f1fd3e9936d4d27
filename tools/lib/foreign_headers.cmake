# What Debian has for its own architecture only, in a build for another system: xxHash is a header; cJSON and zstd are
# sources that tools/deps fetches with the option for that system. The headers of this machine's system must not come along with them.
find_file(ARBITER_XXHASH xxhash.h PATHS /usr/include /usr/local/include NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
file(COPY "${ARBITER_XXHASH}" DESTINATION "${PROJECT_BINARY_DIR}/foreign")
include_directories(SYSTEM "${PROJECT_BINARY_DIR}/foreign")

set(ARBITER_CJSON_DIR "${PROJECT_SOURCE_DIR}/.deps/cjson" CACHE PATH "Sources of cJSON")
if(EXISTS "${ARBITER_CJSON_DIR}/cJSON.c")
    file(COPY "${ARBITER_CJSON_DIR}/cJSON.h" DESTINATION "${PROJECT_BINARY_DIR}/foreign/cjson")
    add_library(cjson STATIC "${ARBITER_CJSON_DIR}/cJSON.c")
    target_compile_options(cjson PRIVATE -w)
    target_compile_definitions(cjson PUBLIC CJSON_HIDE_SYMBOLS)
    add_library(PkgConfig::CJSON ALIAS cjson)
endif()

set(ARBITER_ZSTD_DIR "${PROJECT_SOURCE_DIR}/.deps/zstd" CACHE PATH "Sources of zstd")
if(EXISTS "${ARBITER_ZSTD_DIR}/lib/zstd.h")
    file(COPY "${ARBITER_ZSTD_DIR}/lib/zstd.h" "${ARBITER_ZSTD_DIR}/lib/zstd_errors.h"
        DESTINATION "${PROJECT_BINARY_DIR}/foreign")
    file(GLOB zstd_sources "${ARBITER_ZSTD_DIR}/lib/common/*.c" "${ARBITER_ZSTD_DIR}/lib/compress/*.c"
        "${ARBITER_ZSTD_DIR}/lib/decompress/*.c")
    add_library(zstd STATIC EXCLUDE_FROM_ALL ${zstd_sources})
    target_compile_options(zstd PRIVATE -w)
    target_compile_definitions(zstd PRIVATE ZSTD_DISABLE_ASM=1)
    add_library(PkgConfig::ZSTD ALIAS zstd)
endif()
