# Toolchain for Linux on another processor with Debian's cross compiler: ARBITER_TRIPLE and ARBITER_QEMU_NAME say which.
# What is built runs under qemu-user where that is installed.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${ARBITER_TRIPLE}-gcc)
set(CMAKE_FIND_ROOT_PATH /usr/${ARBITER_TRIPLE})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
find_program(ARBITER_QEMU ${ARBITER_QEMU_NAME})
if(ARBITER_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR "${ARBITER_QEMU};-L;/usr/${ARBITER_TRIPLE}")
endif()
