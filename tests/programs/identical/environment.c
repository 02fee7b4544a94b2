// What a program inherits.
#include "tick.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fcntl.h>
extern char **environ;
static int fcntl_ok(int fd) { return fcntl(fd, F_GETFD) >= 0; }
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        printf("arg %s\n", argv[i]);
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "_=", 2)) puts(*e);
    for (int fd = 0; fd < 100; fd++)
        if (fcntl_ok(fd)) printf("fd %d\n", fd);
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "Sig", 3) || !strncmp(line, "Shd", 3) || !strncmp(line, "NoNewPrivs", 10) || !strncmp(line, "Seccomp:", 8)) {
            // 32 and 33 belong to the C library.
            if (strncmp(line, "SigQ", 4)) printf("%.7s %lx\n", line, strtol(line + 8, NULL, 16) & ~0x180000000);
        }
    fclose(status);
    for (int r = 0; r < RLIM_NLIMITS; r++) {
        struct rlimit l;
        getrlimit(r, &l);
        printf("%d %lx %lx\n", r, (long)l.rlim_cur, (long)l.rlim_max);
    }
    printf("%o %d %d\n", umask(0), getpriority(PRIO_PROCESS, 0), getpgrp() == getpid());
    puts(getcwd(line, sizeof line));
    return tick(3);
}
