# Toolchain: IBM z Linux, the big-endian machine that replays are checked on.
set(CMAKE_SYSTEM_PROCESSOR s390x)
# Standard C would have it calculate with doubles between two floats.
set(CMAKE_C_FLAGS_INIT "-fexcess-precision=fast")
set(ARBITER_TRIPLE s390x-linux-gnu)
set(ARBITER_QEMU_NAME qemu-s390x)
include("${CMAKE_CURRENT_LIST_DIR}/qemu.cmake")
