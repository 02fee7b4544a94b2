// Files made, changed, renamed and deleted on both sides of a checkpoint. The
// program looks at them twice: before it changes them and after.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }
__attribute__((noinline)) void used(void) { __asm__ volatile(""); }

static void check(int ok, const char *what) {
    if (!ok) {
        printf("%s: %s\n", what, strerror(errno));
        fflush(stdout);
        _exit(1);
    }
}

static void put(const char *name, const char *text) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    check(fd >= 0, name);
    check(write(fd, text, strlen(text)) == (ssize_t)strlen(text), name);
    close(fd);
}

static void show(const char *name) {
    char text[64] = "";
    int fd = open(name, O_RDONLY);
    if (fd < 0) {
        printf("%s is not there\n", name);
        return;
    }
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n < 0 ? 0 : n] = 0;
    printf("%s = %s\n", name, text);
    close(fd);
}

static int rw, shared, renamed, deleted, reader, nameless, copy_of_deleted;
static char *mapped, *mapped_deleted;

static void *append(void *unused) {
    for (int i = 0; i < 100; i++) {
        int fd = open("threads", O_WRONLY | O_CREAT | O_APPEND, 0644);
        check(fd >= 0 && write(fd, "t", 1) == 1, "threads");
        close(fd);
    }
    return unused;
}

static void threads(void) {
    pthread_t ids[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&ids[i], NULL, append, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(ids[i], NULL);
}

/* Removes a directory with a directory in it, and makes both again, empty. */
static void make_again(const char *dir) {
    char sub[32], file[32];
    snprintf(sub, sizeof sub, "%s/sub", dir);
    snprintf(file, sizeof file, "%s/x", sub);
    check(unlink(file) == 0 && rmdir(sub) == 0 && rmdir(dir) == 0, "removed");
    check(mkdir(dir, 0700) == 0 && mkdir(sub, 0700) == 0, "made again");
}

static void look(void) {
    char text[64];
    const char *names[] = {"old",   "old_deleted", "old_renamed", "old_new_name", "appended",
                           "gone",  "renamed",     "new_name",    "deleted",      "made",
                           "dir/a", "dir/b",       "old_dir/x",   "moved_dir/x",  "link1",
                           "link2", "replaced",    "opaque/y",    "again/sub/x",  "nested/sub/x"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        show(names[i]);
    struct stat it;
    stat("threads", &it);
    printf("threads %ld\n", (long)it.st_size);
    stat("old", &it);
    printf("mode %o\n", it.st_mode & 0777);
    ssize_t n = readlink("soft", text, sizeof text - 1);
    text[n < 0 ? 0 : n] = 0;
    printf("soft -> %s\n", text);
    printf("offsets %ld %ld %ld %ld\n", (long)lseek(rw, 0, SEEK_CUR),
           (long)lseek(deleted, 0, SEEK_CUR), (long)lseek(copy_of_deleted, 0, SEEK_CUR),
           (long)lseek(reader, 0, SEEK_CUR));
    memset(text, 0, sizeof text);
    check(pread(nameless, text, 8, 0) >= 0, "nameless");
    printf("nameless %s mapped %.6s %.6s\n", text, mapped, mapped_deleted);
    fflush(stdout);
}

int main(void) {
    // Before: the test has made old, old_deleted, old_renamed, old_dir/x, opaque/x, again/sub/x and
    // nested/sub/x.
    setvbuf(stdout, NULL, _IOFBF, 65536);
    make_again("again");
    put("appended", "one");
    put("gone", "will be deleted");
    put("renamed", "will be renamed");
    put("deleted", "open when deleted");
    put("replaced", "first");
    put("link1", "two names");
    check(link("link1", "link2") == 0, "link");
    check(symlink("first", "soft") == 0, "symlink");
    check(mkdir("dir", 0755) == 0, "mkdir");
    put("dir/a", "in a directory");
    put("map", "mapped");
    put("map_deleted", "mapped");
    rw = open("appended", O_RDWR);
    check(rw >= 0 && lseek(rw, 2, SEEK_SET) == 2, "appended");
    deleted = open("deleted", O_RDWR);
    copy_of_deleted = dup(deleted);
    check(lseek(deleted, 5, SEEK_SET) == 5, "deleted");
    renamed = open("renamed", O_RDWR | O_APPEND);
    reader = open("old", O_RDONLY);
    check(read(reader, &(char[3]){0}, 3) == 3, "old");
    nameless = open("nameless", O_RDWR | O_CREAT, 0600);
    check(write(nameless, "nobody", 6) == 6 && unlink("nameless") == 0, "nameless");
    shared = open("map", O_RDWR);
    mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    int fd = open("map_deleted", O_RDWR);
    mapped_deleted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    check(mapped != MAP_FAILED && mapped_deleted != MAP_FAILED, "mmap");
    threads();
    hold();
    look();
    // Every kind of change.
    check(write(rw, "XYZ", 3) == 3, "appended");
    check(unlink("gone") == 0 && rename("renamed", "new_name") == 0, "rename");
    check(write(renamed, "!", 1) == 1, "new_name");
    check(unlink("deleted") == 0 && write(deleted, "lost", 4) == 4, "deleted");
    put("made", "new");
    put("dir/b", "new");
    put("old", "written");
    check(chmod("old", 0600) == 0, "chmod");
    check(unlink("old_deleted") == 0, "old_deleted");
    check(rename("old_renamed", "old_new_name") == 0, "old_renamed");
    check(ftruncate(nameless, 2) == 0 && pwrite(nameless, "?", 1, 0) == 1, "nameless");
    memcpy(mapped, "MAPPED", 6);
    memcpy(mapped_deleted, "MAPPED", 6);
    check(unlink("map_deleted") == 0, "map_deleted");
    put("replacement", "second");
    check(rename("replacement", "replaced") == 0, "replaced");
    check(unlink("link2") == 0, "link2");
    put("link1", "one name");
    check(unlink("soft") == 0 && symlink("second", "soft") == 0, "soft");
    // Renaming a directory of then works where the kernel lets it.
    if (getenv("MOVE_DIRECTORY"))
        check(rename("old_dir", "moved_dir") == 0, "old_dir");
    check(unlink("opaque/x") == 0 && rmdir("opaque") == 0 && mkdir("opaque", 0700) == 0, "opaque");
    put("opaque/y", "another");
    put("again/sub/x", "another");
    make_again("nested");
    threads();
    check(lseek(reader, 0, SEEK_SET) == 0, "old");
    used();
    // What is left when it ends.
    check(write(rw, "end", 3) == 3 && write(deleted, "end", 3) == 3, "write");
    check(write(renamed, "end", 3) == 3, "renamed");
    mapped_deleted[0] = '$';
    look();
    return 0;
}
