# Toolchain: 64-bit ARM Linux.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(ARBITER_TRIPLE aarch64-linux-gnu)
set(ARBITER_QEMU_NAME qemu-aarch64)
include("${CMAKE_CURRENT_LIST_DIR}/qemu.cmake")
