#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t full, empty;
static int slot, sum;

static void *consumer(void *arg) {
    for (int i = 0; i < 20; i++) {
        sem_wait(&full);
        sum += slot;
        sem_post(&empty);
    }
    return arg;
}

int main(void) {
    for (int round = 0; round < 2; round++) {
        sem_init(&full, 0, 0);
        sem_init(&empty, 0, 1);
        pthread_t t;
        pthread_create(&t, NULL, consumer, NULL);
        for (int i = 0; i < 20; i++) {
            sem_wait(&empty);
            slot = i;
            sem_post(&full);
        }
        pthread_join(t, NULL);
        sem_destroy(&full);
        sem_destroy(&empty);
    }
    // Opened twice it is one semaphore, which is there until it is closed twice.
    char name[32];
    snprintf(name, sizeof name, "/verde-%d", getpid());
    sem_t *a = sem_open(name, O_CREAT, 0600, 0), *b = sem_open(name, 0);
    sem_unlink(name);
    if (a != b)
        return 1;
    sem_close(a);
    sem_post(b);
    sem_wait(b);
    sem_close(b);
    printf("%d\n", sum);
    return 0;
}
