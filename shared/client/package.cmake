# What a game links: one object with everything in it whose only global symbols are arbiter_*, so that a game may
# have a Box2D or an ENet of its own; from it a static and a shared library, a CMake package and a pkg-config file.

include(CMakePackageConfigHelpers)

set(client_libraries arbiter_transport arbiter_view arbiter_move arbiter_proto arbiter_base enet box2d)
set(client_parts)
foreach(library IN LISTS client_libraries)
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND client_parts $<TARGET_FILE:${library}>)
    endif()
endforeach()

set(client_object "${CMAKE_CURRENT_BINARY_DIR}/package/arbiter_client.o")
add_custom_command(OUTPUT "${client_object}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/package"
    COMMAND ${CMAKE_LINKER} -r -o "${client_object}.all"
        --whole-archive $<TARGET_FILE:arbiter_client> --no-whole-archive
        --start-group ${client_parts} --end-group
    COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=arbiter_*" "--remove-section=.gnu.lto_*"
        "${client_object}.all" "${client_object}"
    COMMAND ${CMAKE_COMMAND} -E rm "${client_object}.all"
    DEPENDS arbiter_client ${client_libraries}
    COMMENT "Joining the client library into one object"
    VERBATIM)
add_custom_target(arbiter_client_object DEPENDS "${client_object}")
set_source_files_properties("${client_object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)

# What it takes from the system, also for a game that links the static one (arbiter_client.pc).
if(WIN32)
    set(client_system ws2_32)
    set(client_system_flags "-lws2_32")
else()
    set(client_system m Threads::Threads)
    set(client_system_flags "-lm -pthread")
endif()
foreach(kind STATIC SHARED)
    string(TOLOWER ${kind} suffix)
    set(target arbiter_client_${suffix})
    add_library(${target} ${kind} "${client_object}")
    add_dependencies(${target} arbiter_client_object)
    set_target_properties(${target} PROPERTIES
        LINKER_LANGUAGE C
        OUTPUT_NAME arbiter_client
        EXPORT_NAME client_${suffix}
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}
        ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/package"
        LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/package"
        RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/package")
    target_include_directories(${target} INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(${target} PRIVATE ${client_system})
endforeach()
target_link_options(arbiter_client_shared PRIVATE -Wl,--no-undefined)
if(WIN32)
    # A DLL exports each global symbol, the compiler's own ones too. Its name as other languages look for it.
    target_link_options(arbiter_client_shared PRIVATE -Wl,--exclude-libs,ALL)
    set_target_properties(arbiter_client_shared PROPERTIES PREFIX "")
endif()

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/arbiter_client")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/arbiter_client-config.cmake.in"
    "${CMAKE_CURRENT_BINARY_DIR}/arbiter_client-config.cmake" INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/arbiter_client-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
# Relative to the file itself, as the prefix is only known when it is installed.
file(RELATIVE_PATH prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${CMAKE_CURRENT_LIST_DIR}/arbiter_client.pc.in" "${CMAKE_CURRENT_BINARY_DIR}/arbiter_client.pc" @ONLY)

install(TARGETS arbiter_client_static arbiter_client_shared EXPORT arbiter_client COMPONENT client)
install(EXPORT arbiter_client FILE arbiter_client-targets.cmake NAMESPACE arbiter::
    DESTINATION "${package_folder}" COMPONENT client)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/arbiter_client-config.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/arbiter_client-config-version.cmake"
    DESTINATION "${package_folder}" COMPONENT client)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/arbiter_client.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT client)
install(FILES "${CMAKE_CURRENT_LIST_DIR}/arbiter_client.h" TYPE INCLUDE COMPONENT client)
