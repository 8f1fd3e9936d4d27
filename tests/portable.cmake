# The tests of shared/ and the golden files in a build for another system: the same sources with the part of Criterion
# that they use (tests/support/plain), run through CMAKE_CROSSCOMPILING_EMULATOR.

add_library(arbiter_plain STATIC "${PROJECT_SOURCE_DIR}/tests/support/plain/plain.c"
    "${PROJECT_SOURCE_DIR}/tests/support/proto_samples.c")
target_include_directories(arbiter_plain BEFORE PUBLIC "${PROJECT_SOURCE_DIR}/tests/support/plain")
target_link_libraries(arbiter_plain PRIVATE arbiter_warnings PUBLIC arbiter_client arbiter_proto arbiter_move)

if("replay" IN_LIST ARBITER_FOREIGN)
    arbiter_library(arbiter_test_scenes FOLDER tests/scenes LINKS arbiter_config arbiter_match)
endif()
arbiter_sources(files "tests/golden/*.c")
if("game" IN_LIST ARBITER_FOREIGN)
    arbiter_sources(units "tests/unit/test_base_*.c" "tests/unit/test_move*.c" "tests/unit/test_geometry*.c"
        "tests/unit/test_proto_*.c" "tests/unit/test_view_*.c" "tests/unit/test_transport*.c" "tests/unit/test_client_*.c")
    list(APPEND files ${units})
endif()
if(WIN32)
    list(FILTER files EXCLUDE REGEX "test_transport_udp_plain") # Unix sockets one by one
endif()
foreach(file IN LISTS files)
    file(STRINGS "${file}" foreign REGEX "^#include \"(server|tools|tests/sim)/")
    set(libraries)
    if(foreign AND file MATCHES "/golden/" AND "replay" IN_LIST ARBITER_FOREIGN)
        arbiter_included_libraries(libraries "${file}")
    elseif(foreign)
        continue() # of the server's side as well
    endif()
    cmake_path(GET file STEM stem)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME label)
    add_executable(${label}_${stem} "${file}")
    target_link_libraries(${label}_${stem} PRIVATE arbiter_warnings arbiter_plain ${libraries})
    target_compile_definitions(${label}_${stem} PRIVATE ARBITER_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
        UDP_HAS_STAMPS=0)
    set(test ${label}/${stem})
    if(NOT CMAKE_CROSSCOMPILING_EMULATOR)
        continue() # built, but there is nothing to run it with
    endif()
    add_test(NAME ${test} COMMAND ${label}_${stem})
    # Minutes on a processor that is emulated, for what each compiler of this machine's own shows as well.
    if(NOT WIN32 AND stem MATCHES "^test_(geometry|proto_property|transport_link)$")
        set(label slow)
    endif()
    # 77: no emulator here.
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT ${ARBITER_TEST_LIMIT_S} SKIP_RETURN_CODE 77
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
endforeach()

# Bots and games of this system against this machine's own server: the same bits at both ends.
set(ARBITER_NATIVE_BUILD "${PROJECT_SOURCE_DIR}/build/release" CACHE PATH "Build folder of the server that they play on")
cmake_path(ABSOLUTE_PATH CMAKE_TOOLCHAIN_FILE BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE toolchain)
set(support "${PROJECT_SOURCE_DIR}/tests/support")
if(TARGET arbiter-bots AND CMAKE_CROSSCOMPILING_EMULATOR)
    add_test(NAME foreign/match COMMAND "${support}/play_match.sh" "${ARBITER_NATIVE_BUILD}/bin"
        ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:arbiter-bots>)
    set_tests_properties(foreign/match PROPERTIES LABELS foreign TIMEOUT ${ARBITER_TEST_LIMIT_S} RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
endif()
# What this machine recorded gives the same states there.
if(TARGET arbiter-replay AND CMAKE_CROSSCOMPILING_EMULATOR)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    add_test(NAME foreign/journal COMMAND "${support}/play_match.sh" "${ARBITER_NATIVE_BUILD}/bin")
    set_tests_properties(foreign/journal PROPERTIES LABELS foreign TIMEOUT ${ARBITER_TEST_LIMIT_S} RUN_SERIAL TRUE SKIP_RETURN_CODE 77
        ENVIRONMENT "ARBITER_REPLAY=${emulator} $<TARGET_FILE:arbiter-replay>")
endif()
if("game" IN_LIST ARBITER_FOREIGN AND CMAKE_CROSSCOMPILING_EMULATOR)
    add_test(NAME foreign/install COMMAND "${support}/foreign_install_test.sh" "${PROJECT_BINARY_DIR}"
        "${ARBITER_NATIVE_BUILD}/bin" "${toolchain}" ${CMAKE_CROSSCOMPILING_EMULATOR})
    set_tests_properties(foreign/install PROPERTIES LABELS foreign TIMEOUT ${ARBITER_TEST_LIMIT_S} RUN_SERIAL TRUE SKIP_RETURN_CODE 77)
endif()

if(NOT "game" IN_LIST ARBITER_FOREIGN)
    return()
endif()
find_program(ARBITER_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
string(REGEX REPLACE "nm$" "" tools "${CMAKE_NM}")
add_test(NAME foreign/abi COMMAND "${ARBITER_PYTHON}" "${support}/check_abi.py"
    "${PROJECT_BINARY_DIR}/shared/package" --tools "${tools}" --enet $<TARGET_FILE:enet>)
set_tests_properties(foreign/abi PROPERTIES LABELS foreign TIMEOUT ${ARBITER_TEST_LIMIT_S})
