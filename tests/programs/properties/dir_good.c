#include <dirent.h>
#include <stdio.h>

int main(void) {
    int entries = 0;
    for (int i = 0; i < 3; i++) {
        DIR *d = opendir("/proc/self/task");
        while (readdir(d))
            entries++;
        rewinddir(d);
        closedir(d);
    }
    if (opendir("/no/such/directory"))
        return 1;
    printf("%d entries\n", entries);
    return 2;
}
