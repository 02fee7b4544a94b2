/* ck_trap NUMBER: calls `hold` with NUMBER where a system call has its result, and ends with 0 if
   exactly one SIGTRAP has come by then. */
#include <signal.h>
#include <stdlib.h>

static volatile int traps;

static void trapped(int signal) { traps++; }

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

int main(int argc, char **argv) {
    long number = atol(argv[1]);
    signal(SIGTRAP, trapped);
    __asm__ volatile("call hold" : "+a"(number) : : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    __asm__ volatile("call hold" : "+a"(number) : : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    return traps == 1 ? 0 : 1;
}
