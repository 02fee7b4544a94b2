/* Coroutines side by side in one mapping, in the first thread and in another;
   each call of f is left in the middle for the others. 0 if all sums are
   right. */
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#define COUNT 4
#define SIZE (64 * 1024)

struct set {
    ucontext_t home, all[COUNT];
    int present, ended, good;
};

__attribute__((noinline)) int f(struct set *set, int x) {
    volatile int kept = x;
    swapcontext(&set->all[set->present], &set->home);
    return kept;
}

static void body(unsigned low, unsigned high) {
    struct set *set = (struct set *)((unsigned long)high << 32 | low);
    int own = set->present, sum = 0;
    for (int i = 0; i < 5; i++)
        sum += f(set, own * 100 + i);
    set->good += sum == own * 500 + 10;
    set->ended |= 1 << own;
}

static void *switch_on(void *result) {
    static __thread struct set set;
    char *stacks = mmap(0, COUNT * SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long address = (unsigned long)&set;
    for (int i = 0; i < COUNT; i++) {
        getcontext(&set.all[i]);
        set.all[i].uc_stack.ss_sp = stacks + i * SIZE;
        set.all[i].uc_stack.ss_size = SIZE;
        set.all[i].uc_link = &set.home;
        makecontext(&set.all[i], (void (*)(void))body, 2, (unsigned)address,
                    (unsigned)(address >> 32));
    }
    while (set.ended != (1 << COUNT) - 1)
        for (set.present = 0; set.present < COUNT; set.present++)
            if (!(set.ended & 1 << set.present))
                swapcontext(&set.home, &set.all[set.present]);
    *(int *)result += set.good;
    return 0;
}

int main(void) {
    int good = 0;
    pthread_t thread;
    switch_on(&good);
    pthread_create(&thread, 0, switch_on, &good);
    pthread_join(thread, 0);
    return good == 2 * COUNT ? 0 : 1;
}
