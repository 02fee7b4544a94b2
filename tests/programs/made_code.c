/* Code made at run time calls f, and is written anew after some calls: where
   the old code had its return address the new one has something else. 0 if
   all sums are right. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

__attribute__((noinline)) long f(long x) {
    return x + 1;
}

static void make(unsigned char *p, int filling) {
    uint64_t target = (uint64_t)f;
    memcpy(p, "\x48\x83\xec\x08", 4); /* sub rsp, 8 */
    p += 4;
    memset(p, 0x90, filling);
    p += filling;
    memcpy(p, "\x48\xb8", 2); /* mov rax, f */
    memcpy(p + 2, &target, 8);
    p += 10;
    memcpy(p, "\xff\xd0", 2);             /* call rax */
    memcpy(p + 2, "\x48\x83\xc4\x08", 4); /* add rsp, 8 */
    p[6] = 0xc3;
}

int main(void) {
    int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    unsigned char *page = mmap(0, 4096, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long sum = 0;
    for (int round = 0; round < 40; round++) {
        make(page, round % 9);
        for (long i = 0; i < 3; i++)
            sum += ((long (*)(long))page)(i);
    }
    return sum == 40 * 6 ? 0 : 1;
}
