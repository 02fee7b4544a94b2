/* gdb 13 knows no register state beyond AVX-512 and PKRU and writes that part only, which the
   kernel refuses on a CPU that has more (AMX): it wants the whole. Preloaded into gdb, this
   adds the rest as it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

static long (*next)(int, ...);

__attribute__((constructor)) static void begin(void)
{
    next = dlsym(RTLD_NEXT, "ptrace");
    unsetenv("LD_PRELOAD"); /* The debugged program gets gdb's environment. */
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list list;
    va_start(list, request);
    int pid = va_arg(list, int);
    void *address = va_arg(list, void *);
    void *data = va_arg(list, void *);
    va_end(list);
    if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE) {
        static char whole[1 << 16];
        struct iovec all = {whole, sizeof whole}, *part = data;
        if (next(PTRACE_GETREGSET, pid, address, &all) == 0 && part->iov_len < all.iov_len) {
            memcpy(whole, part->iov_base, part->iov_len);
            return next(request, pid, address, &all);
        }
    }
    return next(request, pid, address, data);
}
