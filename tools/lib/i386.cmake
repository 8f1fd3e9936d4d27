# Toolchain: 32-bit x86 Linux. Its old floating point unit would calculate with more digits than are kept, so SSE2.
set(CMAKE_SYSTEM_PROCESSOR i686)
set(ARBITER_TRIPLE i686-linux-gnu)
set(ARBITER_QEMU_NAME qemu-i386)
set(CMAKE_C_FLAGS_INIT "-msse2 -mfpmath=sse")
include("${CMAKE_CURRENT_LIST_DIR}/qemu.cmake")
