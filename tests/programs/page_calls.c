/* On a page with watched data: system calls with buffers behind structures,
   and a child that borrows the memory. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct {
    volatile long value[8];
    volatile long other;
    char buffer[64];
} shared __attribute__((aligned(4096)));

int main(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || write(ends[0], "abcdefghijklmnop", 16) != 16)
        return 1;
    struct iovec vector = {shared.buffer, 4};
    if (readv(ends[1], &vector, 1) != 4)
        return 2;
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (recvmsg(ends[1], &message, 0) != 4)
        return 3;
    vector.iov_base = (void *)shared.value;
    struct mmsghdr messages = {.msg_hdr = message};
    if (recvmmsg(ends[1], &messages, 1, 0, 0) != 1 || messages.msg_len != 4)
        return 4;
    if (memcmp(shared.buffer, "efgh", 4) || memcmp((void *)shared.value, "ijkl", 4))
        return 5;
    if (writev(ends[0], &vector, 1) != 4)
        return 6;
    pid_t child = vfork();
    if (child == 0) {
        shared.other = 20;
        __asm__ volatile("shlq $1, %0" : "+m"(shared.other));
        _exit(3);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 3 << 8)
        return 8;
    return shared.other == 40 ? 7 : 9;
}
