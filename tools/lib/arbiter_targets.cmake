# How a folder of sources becomes a target. Include root is the top of the repository.

add_library(arbiter_warnings INTERFACE)
target_compile_options(arbiter_warnings INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wdouble-promotion -Werror)
target_include_directories(arbiter_warnings INTERFACE "${PROJECT_SOURCE_DIR}")

# PkgConfig::PREFIX from pkg-config's MODULE; where it is missing the build says what to do. A macro, as the target is of
# the folder that asks.
macro(arbiter_package prefix module remedy)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${module})
    if(NOT ${prefix}_FOUND)
        message(FATAL_ERROR "${module} is not installed: ${remedy}.")
    endif()
endmacro()

function(arbiter_sources out)
    set(found)
    foreach(pattern IN LISTS ARGN)
        file(GLOB more CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${pattern}")
        list(APPEND found ${more})
    endforeach()
    set(${out} ${found} PARENT_SCOPE)
endfunction()

# arbiter_library(NAME FOLDER a LINKS x y): a static library of all C files of the folder but main.c.
function(arbiter_library name)
    cmake_parse_arguments(arg "" "FOLDER" "LINKS" ${ARGN})
    arbiter_sources(sources "${arg_FOLDER}/*.c")
    list(FILTER sources EXCLUDE REGEX "/main\\.c$")
    if(sources)
        add_library(${name} STATIC ${sources})
        target_link_libraries(${name} PRIVATE arbiter_warnings PUBLIC ${arg_LINKS})
    else()
        add_library(${name} INTERFACE)
        target_link_libraries(${name} INTERFACE ${arg_LINKS})
    endif()
    set_property(GLOBAL PROPERTY "arbiter_library_of_${arg_FOLDER}" ${name})
endfunction()

# The libraries of the folders that a file includes from: a test is linked with what it names, so that it builds
# while another module does not.
function(arbiter_included_libraries out file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    file(STRINGS "${file}" lines REGEX "^#include \"")
    set(libraries)
    foreach(line IN LISTS lines)
        string(REGEX REPLACE "^#include \"(.*)/[^/]*\".*" "\\1" folder "${line}")
        get_property(library GLOBAL PROPERTY "arbiter_library_of_${folder}")
        list(APPEND libraries ${library})
    endforeach()
    list(REMOVE_DUPLICATES libraries)
    set(${out} ${libraries} PARENT_SCOPE)
endfunction()

# arbiter_program(NAME SOURCES files LINKS x y): an executable, optimised at link time where that is on.
function(arbiter_program name)
    cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
    target_link_libraries(${name} PRIVATE arbiter_warnings ${arg_LINKS})
    if(ARBITER_LTO)
        target_link_options(${name} PRIVATE -flto=auto -O2)
    endif()
endfunction()

# The sources of a project that is built here but is not ours: no warnings.
function(arbiter_foreign_library name)
    cmake_parse_arguments(arg "" "DIR" "SOURCES" ${ARGN})
    if(NOT EXISTS "${arg_DIR}/include")
        message(FATAL_ERROR "No sources in ${arg_DIR}: run tools/deps first.")
    endif()
    add_library(${name} STATIC ${arg_SOURCES})
    target_compile_options(${name} PRIVATE -w)
    target_include_directories(${name} SYSTEM PUBLIC "${arg_DIR}/include")
endfunction()
