/* Wine 8 lacks bcryptprimitives.dll, whose ProcessPrng every Rust program calls at its start. This stand-in forwards to
 * RtlGenRandom (exported as SystemFunction036), which Wine has. For tests only. */
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) {
    return SystemFunction036(data, (ULONG)length);
}
