#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

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
    printf("%d\n", sum);
    return 0;
}
