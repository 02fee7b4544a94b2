/* Threads asleep on a futex that is on the page of watched data, while another
   one reads those. Ends with 0 if they were let sleep. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLEEPERS = 3, READS = 100 };

static struct {
    _Alignas(4096) volatile long data[8];
    int word;
} page;

static volatile pid_t sleepers[SLEEPERS];

__attribute__((noinline)) void begin(void) { __asm__ volatile(""); }

static void *sleeper(void *arg) {
    *(volatile pid_t *)arg = gettid();
    for (;;)
        syscall(SYS_futex, &page.word, 128 /* wait, private */, 0, NULL, NULL, 0);
}

/* What the kernel says about a thread; 0 if it does not say. */
static long told(pid_t tid, const char *what, char *state) {
    char line[128];
    long value = 0;
    snprintf(line, sizeof line, "/proc/self/task/%d/status", tid);
    FILE *file = fopen(line, "r");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "State: %c", state);
        if (!strncmp(line, what, strlen(what)))
            sscanf(line + strlen(what), ": %ld", &value);
    }
    if (file)
        fclose(file);
    return value;
}

static long naps(void) {
    long sum = 0;
    char state;
    for (int i = 0; i < SLEEPERS; i++)
        sum += told(sleepers[i], "voluntary_ctxt_switches", &state);
    return sum;
}

static int all_sleep(void) {
    for (int i = 0; i < SLEEPERS; i++) {
        char state = 0;
        if (!sleepers[i] || (told(sleepers[i], "Pid", &state), state != 'S'))
            return 0;
    }
    return 1;
}

int main(void) {
    pthread_t thread;
    begin();
    for (int i = 0; i < SLEEPERS; i++)
        pthread_create(&thread, NULL, sleeper, (void *)&sleepers[i]);
    for (int tries = 0; !all_sleep(); tries++) {
        if (tries == 10000)
            _exit(2);
        usleep(1000);
    }
    long before = naps(), sum = 0;
    for (int i = 0; i < READS; i++)
        sum += page.data[0];
    _exit(naps() == before ? (int)sum : 1);
}
